// A slider over positions that have names, with buttons for the next and the last position and one that plays. Knows no run.

import { useEffect, useRef, useState } from "preact/hooks";

import { Button } from "./button";
import "./slider.css";

interface SliderProps {
  name: string;
  /** The last position; the first one is 0. */
  last: number;
  value: number;
  /** The position in words. */
  text: string;
  /** What a position is called, for the buttons. */
  noun: string;
  onChange: (value: number) => void;
  /** Called for the first position, which may not be loaded yet. */
  onFirst?: () => void;
}

/** The pause between two positions while it plays, in milliseconds. */
const PAUSE = 600;

export function Slider({ name, last, value, text, noun, onChange, onFirst }: SliderProps) {
  const [isPlaying, setPlaying] = useState(false);
  const latest = useRef({ value, last, onChange });
  latest.current = { value, last, onChange };
  useEffect(() => {
    if (!isPlaying) return;
    const timer = setInterval(() => {
      const now = latest.current;
      if (now.value >= now.last) setPlaying(false);
      else now.onChange(now.value + 1);
    }, PAUSE);
    return () => clearInterval(timer);
  }, [isPlaying]);
  const play = (): void => {
    if (!isPlaying && value >= last) onChange(0);
    setPlaying(!isPlaying);
  };
  const move = (to: number): void => {
    setPlaying(false);
    onChange(Math.min(Math.max(to, 0), last));
  };
  return (
    <div class="slider">
      <div class="slider-buttons">
        <Button kind="quiet" aria-label={`Previous ${noun}`} title={`Previous ${noun} (,)`} disabled={value <= 0} onClick={() => move(value - 1)}>
          ‹
        </Button>
        <Button aria-label={isPlaying ? "Pause" : "Play"} disabled={last === 0} onClick={play}>
          {isPlaying ? "❚❚" : "▶"}
        </Button>
        <Button kind="quiet" aria-label={`Next ${noun}`} title={`Next ${noun} (.)`} disabled={value >= last} onClick={() => move(value + 1)}>
          ›
        </Button>
      </div>
      <input
        class="slider-range"
        type="range"
        aria-label={name}
        aria-valuetext={text}
        min={0}
        max={last}
        step={1}
        value={value}
        onInput={(event) => move(event.currentTarget.valueAsNumber)}
        onKeyDown={(event) => event.key === "Home" && onFirst?.()}
      />
    </div>
  );
}
