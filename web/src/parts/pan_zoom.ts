// A drawing that is moved and scaled: by dragging, by buttons and keys, by the wheel with Ctrl. It never moves by itself. The place is an
// attribute that is set without rendering anything again.

import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";

interface View {
  x: number;
  y: number;
  scale: number;
}

export interface PanZoom {
  zoom: (factor: number) => void;
  fit: () => void;
  pan: (x: number, y: number) => void;
  /** Moves a part of the drawing into view, if it is not. */
  reveal: (place: Rectangle) => void;
}

export interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

const [SMALLEST, LARGEST, STEP] = [0.08, 4, 1.25];
/** The smallest scale at which names can be read: a drawing that would be smaller shows its `start` at first. */
const LEGIBLE = 0.45;
const FIRST = 0.75;
/** A pointer that moves less than this clicks. */
const STILL = 5;

export function usePanZoom(svg: RefObject<SVGSVGElement | null>, stage: RefObject<SVGGElement | null>, size: Rectangle | null, start: () => Rectangle | null): PanZoom {
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  const latest = useRef({ size, start });
  latest.current = { size, start };
  const handlers = useMemo(() => makeHandlers(svg, stage, view, latest), []);
  useEffect(() => (size === null ? undefined : handlers.begin()), [size]);
  useEffect(() => (svg.current === null ? undefined : listen(svg.current, handlers)), [size === null]);
  return handlers;
}

type Latest = { size: Rectangle | null; start: () => Rectangle | null };

function makeHandlers(svg: RefObject<SVGSVGElement | null>, stage: RefObject<SVGGElement | null>, view: { current: View }, latest: { current: Latest }) {
  const set = (next: View): void => {
    view.current = next;
    stage.current?.setAttribute("transform", `translate(${next.x} ${next.y}) scale(${next.scale})`);
  };
  const area = (): { width: number; height: number } => ({ width: svg.current?.clientWidth ?? 0, height: svg.current?.clientHeight ?? 0 });
  const centre = (x: number, y: number, scale: number): void => set({ x: area().width / 2 - x * scale, y: area().height / 2 - y * scale, scale });
  const fitScale = (): number => {
    const { width = 1, height = 1 } = latest.current.size ?? {};
    return Math.min(area().width / Math.max(width, 1), area().height / Math.max(height, 1), 1);
  };
  const fit = (): void => {
    const { x, y, width, height } = latest.current.size ?? { x: 0, y: 0, width: 0, height: 0 };
    centre(x + width / 2, y + height / 2, fitScale());
  };
  const zoomAt = (factor: number, x: number, y: number): void => {
    const scale = Math.min(Math.max(view.current.scale * factor, SMALLEST), LARGEST);
    const by = scale / view.current.scale;
    set({ x: x - (x - view.current.x) * by, y: y - (y - view.current.y) * by, scale });
  };
  return {
    begin: (): void => {
      const place = latest.current.start();
      if (fitScale() >= LEGIBLE || place === null) fit();
      else centre(place.x + place.width / 2, place.y + place.height / 2, FIRST);
    },
    fit,
    zoomAt,
    zoom: (factor: number): void => zoomAt(factor, area().width / 2, area().height / 2),
    pan: (x: number, y: number): void => set({ ...view.current, x: view.current.x + x, y: view.current.y + y }),
    reveal: ({ x, y, width, height }: Rectangle): void => {
      const { x: left, y: top, scale } = view.current;
      const shift = (from: number, length: number, room: number): number => (from < 0 ? 12 - from : from + length > room ? room - 12 - from - length : 0);
      set({ scale, x: left + shift(left + x * scale, width * scale, area().width), y: top + shift(top + y * scale, height * scale, area().height) });
    },
  };
}

function listen(element: SVGSVGElement, { pan, zoomAt }: ReturnType<typeof makeHandlers>): () => void {
  let from: { x: number; y: number; isMoved: boolean } | null = null;
  const stop = new AbortController();
  const on = <K extends keyof SVGSVGElementEventMap>(name: K, listener: (event: SVGSVGElementEventMap[K]) => void, options: AddEventListenerOptions = {}): void =>
    element.addEventListener(name, listener, { ...options, signal: stop.signal });
  on("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { left, top } = element.getBoundingClientRect();
    zoomAt(event.deltaY < 0 ? STEP : 1 / STEP, event.clientX - left, event.clientY - top);
  }, { passive: false });
  on("pointerdown", (event) => {
    if (event.button === 0) from = { x: event.clientX, y: event.clientY, isMoved: false };
  });
  on("pointermove", (event) => {
    if (from === null) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (!from.isMoved && Math.hypot(x, y) < STILL) return;
    if (!from.isMoved) element.setPointerCapture(event.pointerId);
    pan(x, y);
    from = { x: event.clientX, y: event.clientY, isMoved: true };
  });
  on("pointerup", (event) => {
    if (from?.isMoved === true) element.addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true, signal: AbortSignal.any([stop.signal, AbortSignal.timeout(50)]) });
    from = null;
    if (element.hasPointerCapture(event.pointerId)) element.releasePointerCapture(event.pointerId);
  });
  on("pointercancel", () => (from = null));
  return () => stop.abort();
}

/** Handles the keys that move and scale a drawing. */
export function handleZoomKey(key: string, { zoom, fit }: PanZoom): boolean {
  if (key === "+" || key === "=") zoom(STEP);
  else if (key === "-") zoom(1 / STEP);
  else if (key === "0") fit();
  else return false;
  return true;
}

export function zoomIn({ zoom }: PanZoom): void {
  zoom(STEP);
}

export function zoomOut({ zoom }: PanZoom): void {
  zoom(1 / STEP);
}
