// Forms in dialogs: fields as data, whose values are texts.
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Confirm, Opener } from './dialogs.tsx';

export interface Field {
  readonly label: string;
  readonly type?: 'text' | 'url' | 'area';
  /** The values that there are: one is chosen, or `many`, with spaces between. A pair is a value and its name. */
  readonly options?: readonly (string | readonly [string, string])[];
  readonly many?: boolean;
  readonly value?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly placeholder?: string;
  readonly hint?: ComponentChildren;
}

type Values<Name extends string> = Readonly<Record<Name, string>>;

interface FormProps<Name extends string> {
  readonly title: string;
  readonly action: string;
  readonly fields: Readonly<Record<Name, Field>>;
  /** Gets the values without spaces around them. */
  readonly run: (values: Values<Name>) => Promise<unknown>;
  readonly children?: ComponentChildren | ((values: Values<Name>) => ComponentChildren);
}

/** A dialog that asks for values; it stays open with the error when they are refused. */
export function Form<Name extends string>({
  fields,
  run,
  children,
  ...dialog
}: FormProps<Name> & { onClose: () => void }) {
  const entries = Object.entries(fields) as [Name, Field][];
  const [typed, setTyped] = useState<Partial<Record<Name, string>>>({});
  const pairs = entries.map(([name, { value = '' }]) => [name, typed[name] ?? value] as const);
  const values = Object.fromEntries(pairs.map(([name, text]) => [name, text.trim()])) as Values<Name>;
  return (
    <Confirm
      {...dialog}
      isReady={entries.every(([name, { required }]) => required !== true || values[name] !== '')}
      run={() => run(values)}
    >
      {entries.map(([name, field], index) => (
        <Entry
          key={name}
          field={field}
          value={pairs[index]?.[1] ?? ''}
          onType={(text) => setTyped((old) => ({ ...old, [name]: text }))}
        />
      ))}
      {typeof children === 'function' ? children(values) : children}
    </Confirm>
  );
}

/** A button with the form that it opens. */
export function FormOpener<Name extends string>({
  label,
  class: look,
  ...form
}: FormProps<Name> & { label: string; class?: string }) {
  return (
    <Opener label={label} {...(look !== undefined && { class: look })}>
      {(close) => <Form {...form} onClose={close} />}
    </Opener>
  );
}

/** @returns the words of a text, which have spaces or commas between them */
export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

interface EntryProps {
  readonly field: Field;
  readonly value: string;
  readonly onType: (value: string) => void;
}

function Entry(props: EntryProps) {
  const { label, options = [], many, hint } = props.field;
  const id = useId();
  if (many === true) return <Choices {...props} />;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {options.length > 0 ? (
        <select id={id} value={props.value} onChange={(event) => props.onType(event.currentTarget.value)}>
          {options.map((option) => {
            const [value, text] = typeof option === 'string' ? [option, option] : option;
            return (
              <option key={value} value={value}>
                {text}
              </option>
            );
          })}
        </select>
      ) : (
        <Typed {...props} id={id} />
      )}
      {hint !== undefined && <small class="faint">{hint}</small>}
    </div>
  );
}

function Typed({ id, field, value, onType }: EntryProps & { id: string }) {
  const { type = 'text', required = false, maxLength, placeholder } = field;
  const shared = {
    ...{ id, value, required, spellcheck: type === 'area' },
    ...(maxLength !== undefined && { maxLength }),
    ...(placeholder !== undefined && { placeholder }),
  };
  if (type === 'area')
    return (
      <textarea class="prose" rows={4} {...shared} onInput={(event) => onType(event.currentTarget.value)} />
    );
  const input = {
    ...shared,
    onInput: (event: { currentTarget: HTMLInputElement }) => onType(event.currentTarget.value),
  };
  return type === 'url' ? <input type="url" {...input} /> : <input {...input} />;
}

function Choices({ field: { label, options = [], hint }, value, onType }: EntryProps) {
  const chosen = wordsOf(value);
  const names = options.map((option) => (typeof option === 'string' ? option : option[0]));
  return (
    <fieldset class="choices">
      <legend>{label}</legend>
      {names.map((name) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={({ currentTarget: { checked } }) =>
              onType(names.filter((one) => (one === name ? checked : chosen.includes(one))).join(' '))
            }
          />
          <code>{name}</code>
        </label>
      ))}
      {hint !== undefined && <small class="faint">{hint}</small>}
    </fieldset>
  );
}
