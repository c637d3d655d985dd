// Generates docs/settings.md from the schema of the settings.
import { z } from 'zod';
import { VARIABLES } from './config-variables.ts';

const INTRODUCTION = `# Settings

Made by \`npm run settings\` from \`src/platform/config-variables.ts\`: change it there.

Everything is an environment variable, read and checked once at start; an empty one counts as not set. Each wrong one is
a line that begins with its name, and the exit code is 2. In parentheses: the default.

A setting with a secret has a second name that ends in \`_FILE\`: the absolute path of a file whose content, without one
final newline, is the value. It is read once at start. Both names together are wrong, and so is a file that is empty or
cannot be read. All roles and commands take these names.
`;

const WIDTH = 120;

/** @returns the page, in Markdown with lines of at most 120 characters */
export function describeSettings(): string {
  const sections = Object.entries(VARIABLES).map(([title, variables]) => {
    const items = Object.entries(variables).map(([name, type]) => wrap(describe(name, type)));
    return `\n## ${title}\n\n${items.join('\n')}\n`;
  });
  return INTRODUCTION + sections.join('');
}

function describe(name: string, type: z.ZodType): string {
  const { description = '', shown = defaultOf(type), secret } = type.meta() ?? {};
  const names = secret === true ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``;
  return `- ${names} (${String(shown)}): ${description}`;
}

function defaultOf(type: z.ZodType): string {
  if (!(type instanceof z.ZodDefault || type instanceof z.ZodPrefault)) return 'none';
  const value: unknown = type.def.defaultValue;
  if (Array.isArray(value)) return 'none';
  return typeof value === 'string' ? `\`${value}\`` : String(value);
}

/** Breaks an item of a list between words; text between backticks stays on one line if it fits. */
function wrap(item: string): string {
  const lines: string[] = [];
  for (const word of item.match(/(?:`[^`]*`|[^\s`])+/g) ?? []) {
    const line = lines.at(-1);
    if (line === undefined) lines.push(word);
    else if (line.length + 1 + word.length <= WIDTH) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
}
