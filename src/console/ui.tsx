// The small parts that all pages are made of.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useLayoutEffect, useState } from 'preact/hooks';
import { ApiError, passes } from './api.ts';
import { formatClock, formatExact, formatRelative, shorten } from './format.ts';
import { pageAddress } from './router.ts';
import { tenantName } from './session.ts';

type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'off';
type Shape = 'disc' | 'ring' | 'half' | 'square' | 'cross' | 'bar';

/** How each state of the API looks: its colour and its shape say the same as its word. */
const LOOKS: Readonly<Record<string, readonly [Tone, Shape]>> = {
  delivered: ['good', 'disc'],
  acknowledged: ['good', 'disc'],
  active: ['good', 'disc'],
  verified: ['good', 'disc'],
  enabled: ['good', 'disc'],
  open: ['good', 'disc'],
  success: ['good', 'disc'],
  completed: ['good', 'disc'],
  pending: ['busy', 'ring'],
  published: ['busy', 'ring'],
  waiting_for_switch: ['busy', 'ring'],
  waiting: ['busy', 'half'],
  retrying: ['busy', 'half'],
  probing: ['busy', 'half'],
  releasing: ['busy', 'half'],
  overlapping: ['busy', 'half'],
  running: ['busy', 'half'],
  failing: ['wait', 'half'],
  held: ['wait', 'square'],
  paused: ['wait', 'square'],
  deprecated: ['wait', 'square'],
  no_receivers: ['wait', 'square'],
  failed: ['bad', 'cross'],
  failure: ['bad', 'cross'],
  down: ['bad', 'cross'],
  unacknowledged: ['bad', 'cross'],
  suspended: ['bad', 'cross'],
  critical: ['bad', 'cross'],
  warning: ['wait', 'square'],
  notice: ['busy', 'ring'],
  none: ['good', 'disc'],
};

const SHAPES: Readonly<Record<Shape, JSX.Element>> = {
  disc: <circle cx="5" cy="5" r="4" fill="currentColor" />,
  ring: <circle cx="5" cy="5" r="3.2" fill="none" stroke="currentColor" stroke-width="1.6" />,
  half: (
    <>
      <circle cx="5" cy="5" r="3.2" fill="none" stroke="currentColor" stroke-width="1.6" />
      <path d="M5 1a4 4 0 0 1 0 8z" fill="currentColor" />
    </>
  ),
  square: <rect x="1.4" y="1.4" width="7.2" height="7.2" rx="1" fill="currentColor" />,
  cross: <path d="M1.8 1.8l6.4 6.4M8.2 1.8l-6.4 6.4" stroke="currentColor" stroke-width="2" fill="none" />,
  bar: <path d="M1 5h8" stroke="currentColor" stroke-width="2" fill="none" />,
};

/** A state as shape, colour and word. */
export function Status({ of, word = of }: { of: string; word?: string }) {
  const [tone, shape] = LOOKS[of] ?? ['off', 'bar'];
  return (
    <span class={`status ${tone}`}>
      <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
        {SHAPES[shape]}
      </svg>
      {word}
    </span>
  );
}

/** A time as its distance from now, with the exact one as its title. */
export function Ago({ time, none = '–' }: { time: string | null; none?: string }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000);
    return () => clearInterval(timer);
  }, []);
  if (time === null) return <span class="faint">{none}</span>;
  return (
    <time dateTime={time} title={formatExact(time)}>
      {formatRelative(time, Math.max(now, Date.now() - 10_000))}
    </time>
  );
}

/** A time of day. */
export function Clock({ time }: { time: string }) {
  return (
    <time dateTime={time} title={time}>
      {formatClock(time)}
    </time>
  );
}

/** An id: shortened, and copied by its button. */
export function Id({ value, whole = false }: { value: string; whole?: boolean }) {
  return (
    <span class="id" title={value}>
      <code>{whole ? value : shorten(value)}</code>
      <Copy value={value} label={`Copy ${value}`} />
    </span>
  );
}

/** Copies a value, and says so. */
export function Copy({ value, label }: { value: string; label: string }) {
  const [done, setDone] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(value).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1_500);
    });
  };
  return (
    <button type="button" class="copy" aria-label={done ? 'Copied' : label} title="Copy" onClick={copy}>
      <svg viewBox="0 0 16 16" width="13" height="13" aria-hidden="true">
        {done ? (
          <path d="M3 8.5l3.5 3.5L13 4.5" fill="none" stroke="currentColor" stroke-width="1.8" />
        ) : (
          <path
            d="M5.5 5.5h7v8h-7zM10.500 5.500v-3h-7v8h2"
            fill="none"
            stroke="currentColor"
            stroke-width="1.3"
          />
        )}
      </svg>
    </button>
  );
}

interface Link {
  readonly page: string;
  readonly children: ComponentChildren;
}

/** A link to a page of the console. */
export function To({ page, children }: Link) {
  return <a href={pageAddress(page)}>{children}</a>;
}

/** The link of a table's row, which the keys j and k go to. */
export function RowLink({ page, children }: Link) {
  return (
    <a href={pageAddress(page)} data-row="">
      {children}
    </a>
  );
}

/** What went wrong: which scope is missing, or the problem with the id to name to the operator. */
export function Failure({ error, again = false }: { error: unknown; again?: boolean }) {
  if (error === undefined) return null;
  const problem = error instanceof ApiError ? error.problem : undefined;
  const detail = problem?.detail ?? 'The service cannot be reached.';
  return (
    <div class="failure" role="alert">
      <strong>{problem?.status === 403 ? 'This session lacks a scope' : 'That did not work'}</strong>
      <p>
        {detail}
        {again && ' It is tried again by itself.'}
      </p>
      {problem?.errors?.map(({ path, message }) => (
        <p key={path}>
          <code>{path}</code> {message}
        </p>
      ))}
      {problem !== undefined && (
        <p class="faint">
          {problem.error}
          {problem.request_id !== '' && (
            <>
              {' · request '}
              <Id value={problem.request_id} />
            </>
          )}
        </p>
      )}
    </div>
  );
}

/** What is tried again by itself and shown now, the first first. */
const passing: (() => void)[] = [];

/** Why something was not loaded. Of failures that pass by themselves a page shows one, not one for each table. */
export function NotLoaded({ error }: { error: unknown }) {
  const [, setTurn] = useState(0);
  const [own] = useState(() => () => setTurn((turn) => turn + 1));
  const willPass = error !== undefined && passes(error);
  useLayoutEffect(() => {
    if (!willPass) return;
    passing.push(own);
    passing[0]?.();
    own();
    return () => {
      passing.splice(passing.indexOf(own), 1);
      passing[0]?.();
    };
  }, [willPass]);
  return willPass && passing.length > 0 && passing[0] !== own ? null : (
    <Failure error={error} again={willPass} />
  );
}

/** Why a list is empty, and what would fill it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>{title}</p>
      {children !== undefined && <p class="faint">{children}</p>}
    </div>
  );
}

/** Rows of the height that is to come: nothing moves when they have come. */
export function Waiting({ rows = 6 }: { rows?: number }) {
  return (
    <div class="waiting" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} />
      ))}
    </div>
  );
}

/** A page whose subject is loading, or could not be loaded; `list` is where the others are. */
export function Pending({ title, error, list }: { title: string; error: unknown; list: string }) {
  return (
    <>
      <Head title={title} />
      {error === undefined ? (
        <Waiting rows={9} />
      ) : (
        <>
          <NotLoaded error={error} />
          <To page={list}>All {list}</To>
        </>
      )}
    </>
  );
}

/** The head of a column, the cell of a row, and the class of both: a number stands at the right. */
export type Column<T> = readonly [
  head: string,
  cell: (row: T) => ComponentChildren,
  look?: 'clip' | 'number',
];

/** A table that scrolls sideways on a small screen, with its three other states. */
export function Table<T>({
  label,
  list: { data, error, more },
  keyOf,
  columns,
  empty,
}: {
  label: string;
  list: { data: readonly T[] | undefined; error?: unknown; more?: (() => void) | undefined };
  keyOf: (row: T) => string;
  columns: readonly (Column<T> | false)[];
  empty: ComponentChildren;
}) {
  if (data === undefined) return error === undefined ? <Waiting /> : <NotLoaded error={error} />;
  const next = more !== undefined && (
    <button type="button" class="more" onClick={more}>
      Show more
    </button>
  );
  if (data.length === 0)
    return (
      <>
        {empty}
        {next}
      </>
    );
  const shown = columns.filter((column) => column !== false);
  return (
    <>
      <NotLoaded error={error} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      {/* biome-ignore lint/a11y/useSemanticElements: a section would be a second landmark of the same name */}
      <div class="scroll" tabIndex={0} role="group" aria-label={label}>
        <table>
          <thead>
            <tr>
              {shown.map(([head, , look]) => (
                <th key={head} scope="col" {...(look && { class: look })}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {data.map((row) => (
              <tr key={keyOf(row)}>
                {shown.map(([head, cell, look]) => (
                  <td key={head} {...(look && { class: look })}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {next}
    </>
  );
}

type HeadProps = { title: string; about?: ComponentChildren; children?: ComponentChildren };

/** The head of a page: its title, which is the window's too, one line about it, and its actions. */
export function Head({ title, about, children }: HeadProps) {
  useEffect(() => {
    document.title = [title, tenantName(), 'Countersign'].filter(Boolean).join(' · ');
  }, [title]);
  return (
    <header class="head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {about !== undefined && <div class="about">{about}</div>}
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  );
}

type PartProps = { title: ComponentChildren; note?: ComponentChildren; children: ComponentChildren };

/** A part of a page under its heading. */
export function Part({ title, note, children }: PartProps) {
  const id = useId();
  return (
    <section class="part" aria-labelledby={id}>
      <h2 id={id}>
        {title}
        {note !== undefined && <small> {note}</small>}
      </h2>
      {children}
    </section>
  );
}

/** Names and values. */
export function Facts({ of }: { of: Readonly<Record<string, ComponentChildren>> }) {
  return (
    <dl class="facts">
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A text that may be absent. */
export function Text({ of, none = '–' }: { of: string | null; none?: string }) {
  return of === null ? <span class="faint">{none}</span> : <span title={of}>{of}</span>;
}

type WordsProps = { of: readonly string[]; none: string; most?: number };

/** Words side by side, as scopes are; of more than `most` the number of the others. */
export function Words({ of, none, most = of.length }: WordsProps) {
  if (of.length === 0) return <span class="faint">{none}</span>;
  return (
    <span class="words" {...(of.length > most && { title: of.join(' ') })}>
      {of.slice(0, most).map((word) => (
        <code key={word}>{word}</code>
      ))}
      {of.length > most && <span class="faint">+{of.length - most}</span>}
    </span>
  );
}

/** JSON, to read and to copy. */
export function Json({ of, label }: { of: unknown; label: string }) {
  const text = JSON.stringify(of, null, 2);
  return (
    <div class="json">
      <Copy value={text} label={`Copy ${label}`} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}
