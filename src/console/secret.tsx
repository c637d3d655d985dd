// A secret that is shown once.
import type { ComponentChildren } from 'preact';
import { Copy, Dialog } from './ui.tsx';

export function Secret({
  value,
  onClose,
  children,
}: {
  value: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  return (
    <Dialog title="Keep this secret" onClose={onClose}>
      {children}
      <p class="secret">
        <code>{value}</code>
        <Copy value={value} label="Copy the secret" />
      </p>
      <p class="faint">It is shown once. After this dialog nobody can read it again.</p>
      <div class="buttons">
        <button type="button" class="primary" onClick={onClose}>
          I have kept it
        </button>
      </div>
    </Dialog>
  );
}
