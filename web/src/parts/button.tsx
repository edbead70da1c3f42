// Buttons, and the question that is asked once more before what cannot be undone. Knows no view.

import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

type Kind = "main" | "bad" | "bad-main" | "quiet";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "type"> {
  kind?: Kind | undefined;
  type?: "button" | "submit";
  children: ComponentChildren;
}

export function Button({ kind, type = "button", children, ...rest }: ButtonProps) {
  return (
    <button {...rest} class={`button ${rest.class ?? ""}`} type={type} data-kind={kind}>
      {children}
    </button>
  );
}

interface ConfirmProps {
  title: string;
  children: ComponentChildren;
  onConfirm: () => void;
  onCancel: () => void;
}

/** Asks once more. The safe button has the focus, and Escape is the same as it. */
export function Confirm({ title, children, onConfirm, onCancel }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => opener?.focus();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="dialog stack"
      role="alertdialog"
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-text`}
      onCancel={(event) => (event.preventDefault(), onCancel())}
    >
      <h2 id={`${id}-title`}>{title}</h2>
      <div id={`${id}-text`}>{children}</div>
      <div class="button-row">
        <Button onClick={onCancel} autofocus>
          Cancel
        </Button>
        <Button kind="bad-main" onClick={onConfirm}>
          Confirm
        </Button>
      </div>
    </dialog>
  );
}
