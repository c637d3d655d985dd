// The keys: j and k go through rows, / to the filter, Escape leaves it, g and a letter to a page, ? to the help.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { open } from './router.ts';

/** Pages by the letter after g. */
export const LETTERS: Readonly<Record<string, string>> = {
  o: '',
  d: 'deliveries',
  a: 'agents',
  p: 'applications',
  u: 'issuers',
  s: 'subscriptions',
  r: 'streams',
  e: 'events',
  l: 'audit',
  i: 'issuer-keys',
  t: 'settings',
};

/** Listens to keys that are not typed into a field. */
export function useKeyboard(showHelp: () => void): void {
  const help = useRef(showHelp);
  help.current = showHelp;
  // Not after the first paint: a person may press a key as soon as the page shows.
  useLayoutEffect(() => {
    let isAfterG = false;
    const take = (event: KeyboardEvent): void => {
      if (document.querySelector('dialog[open]') !== null) return;
      if (isTyping(event.target)) {
        if (event.key === 'Escape') leave(event.target);
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const wasAfterG = isAfterG;
      isAfterG = event.key === 'g';
      const page = wasAfterG ? LETTERS[event.key] : undefined;
      if (page !== undefined) open(page);
      else if (event.key === 'j') focusRow(1);
      else if (event.key === 'k') focusRow(-1);
      else if (event.key === '?') help.current();
      else if (event.key === '/') document.querySelector<HTMLElement>('[data-search]')?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', take);
    return () => removeEventListener('keydown', take);
  }, []);
}

function leave(target: EventTarget | null): void {
  if (target instanceof HTMLElement) target.blur();
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, select, textarea') !== null;
}

function focusRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const present = rows.findIndex((row) => row.closest('tr')?.contains(document.activeElement));
  const next = present === -1 ? (step > 0 ? 0 : rows.length - 1) : present + step;
  rows[next]?.focus();
}
