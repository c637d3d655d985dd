// Dialogs: to read, to ask before something is done, and for a secret that is shown once; and buttons that open them.
import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useAction } from './hooks.ts';
import { Copy, Failure } from './ui.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Keeps the focus until it is closed. */
function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** A dialog to read; `actions` stand before the button that closes it. */
export function Notice({
  actions,
  close = 'Close',
  children,
  ...dialog
}: DialogProps & { actions?: ComponentChildren; close?: string }) {
  return (
    <Dialog {...dialog}>
      {children}
      <div class="buttons">
        {actions}
        <button type="button" class="primary" onClick={dialog.onClose}>
          {close}
        </button>
      </div>
    </Dialog>
  );
}

interface Question {
  readonly title: string;
  readonly action: string;
  readonly danger?: boolean;
  /** False while it cannot be done yet. */
  readonly isReady?: boolean;
  readonly run: () => Promise<unknown>;
  readonly children: ComponentChildren;
}

/** Asks before something is done, and stays open with the error when it was refused. */
export function Confirm({
  title,
  action,
  danger = false,
  isReady = true,
  run,
  onClose,
  children,
}: Question & { onClose: () => void }) {
  const doing = useAction();
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void doing.run(run).then((done) => done && onClose());
        }}
      >
        {children}
        <Failure error={doing.error} />
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={danger ? 'danger' : 'primary'} disabled={doing.busy || !isReady}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

type ButtonProps = Pick<ButtonHTMLAttributes, 'class' | 'disabled' | 'aria-label'> & {
  readonly label: string;
  readonly 'data-row'?: '';
};

/** A button with the dialog that it opens. */
export function Opener({
  label,
  children,
  ...button
}: ButtonProps & { children: (close: () => void) => ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" {...button} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && children(() => setOpen(false))}
    </>
  );
}

/** A button for what has to be confirmed. */
export function Ask({ title, action, danger = false, run, children, ...button }: ButtonProps & Question) {
  return (
    <Opener {...(danger && { class: 'danger' })} {...button}>
      {(close) => (
        <Confirm title={title} action={action} danger={danger} run={run} onClose={close}>
          {children}
        </Confirm>
      )}
    </Opener>
  );
}

/** A secret that is shown once. */
export function Secret({ value, onClose, children }: Omit<DialogProps, 'title'> & { value: string }) {
  return (
    <Notice title="Keep this secret" close="I have kept it" onClose={onClose}>
      {children}
      <p class="secret">
        <code>{value}</code>
        <Copy value={value} label="Copy the secret" />
      </p>
      <p class="faint">It is shown once. After this dialog nobody can read it again.</p>
    </Notice>
  );
}
