// A dialog that asks before something is done, and stays open with the error when it was refused.
import type { ComponentChildren } from 'preact';
import { useAction } from './hooks.ts';
import { Dialog, Failure } from './ui.tsx';

export function Confirm({
  title,
  action,
  danger = false,
  run,
  onClose,
  children,
}: {
  title: string;
  action: string;
  danger?: boolean;
  run: () => Promise<unknown>;
  onClose: () => void;
  children: ComponentChildren;
}) {
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
          <button type="submit" class={danger ? 'danger' : 'primary'} disabled={doing.busy}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
