// Filters of a list: they live in the address, so that a filtered list can be linked to.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { setFilters } from './router.ts';

export function Filters({ children }: { children: ComponentChildren }) {
  return <search class="filters">{children}</search>;
}

/** @returns the values that the address has of these filters */
export function readFilters(query: URLSearchParams, names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, query.get(name) ?? undefined]));
}

type PickProps = {
  name: string;
  label: string;
  options: readonly (string | readonly [string, string])[];
  query: URLSearchParams;
  none?: string;
};

/** One of some values, or any; a pair is a value and its name. */
export function Pick({ name, label, options, query, none = 'any' }: PickProps) {
  const id = useId();
  const value = query.get(name) ?? '';
  const pairs = options.map((option) => (typeof option === 'string' ? ([option, option] as const) : option));
  // A value of a link stays visible when it is none of the options, as that of a deleted subscription.
  const all =
    value === '' || pairs.some(([known]) => known === value) ? pairs : [...pairs, [value, value] as const];
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => setFilters({ [name]: event.currentTarget.value })}>
        <option value="">{none}</option>
        {all.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

type FieldProps = { name: string; label: string; query: URLSearchParams; first?: boolean };
type Wording = {
  /** The value in words. */ shown?: string /** Takes what was typed in place of the address. */;
  onTake?: (text: string) => unknown;
};

/** A value to type; `first` is the one that the key `/` goes to. */
export function Field({ name, label, query, first = false, shown, onTake }: FieldProps & Wording) {
  const id = useId();
  const value = shown ?? query.get(name) ?? '';
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const take = (): void => {
    if (text.trim() === value) return;
    if (onTake === undefined) setFilters({ [name]: text.trim() });
    else void onTake(text.trim());
  };
  return (
    <form
      class="filter"
      onSubmit={(event) => {
        event.preventDefault();
        take();
      }}
    >
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={text}
        placeholder="any"
        spellcheck={false}
        autocomplete="off"
        {...(first && { 'data-search': '' })}
        onInput={(event) => setText(event.currentTarget.value)}
        onBlur={take}
      />
    </form>
  );
}

/** A time, in the reader's own zone; the address has it in UTC. */
export function Moment({ name, label, query }: Omit<FieldProps, 'first'>) {
  const id = useId();
  const value = query.get(name) ?? '';
  const take = (text: string): void =>
    setFilters({ [name]: text === '' ? '' : new Date(text).toISOString() });
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="datetime-local"
        value={toLocal(value)}
        onChange={(event) => take(event.currentTarget.value)}
      />
    </div>
  );
}

/** @returns a time as the input takes it; empty for a text that is no time */
function toLocal(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return '';
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
