// Generates docs/settings.md from the schema of the settings.
import { z } from 'zod';
import { VARIABLES } from './config-variables.ts';

const INTRODUCTION = `# Settings

Made by \`npm run settings\` from \`src/platform/config-variables.ts\`: change it there.

Everything is an environment variable, read and checked once at start; an empty one counts as not set. Each wrong one is
a line that begins with its name, and the exit code is 2. In parentheses: the default.
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
  const { description = '', shown = defaultOf(type) } = type.meta() ?? {};
  return `- \`${name}\` (${String(shown)}): ${description}`;
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
