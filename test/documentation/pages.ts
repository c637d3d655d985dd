// Reads the documentation: its pages, and the blocks of shell in them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** README, CONTRIBUTING, CHANGELOG, the example and everything below docs. */
export function listPages(): string[] {
  const below = readdirSync('docs', { recursive: true }) as string[];
  const pages = below.filter((name) => name.endsWith('.md')).map((name) => join('docs', name));
  return ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'examples/mcp-server/README.md', ...pages.sort()];
}

/** The texts of a page's blocks in a language, in order; a file name behind the language does not matter. */
export function readBlocks(page: string, language = 'sh'): string[] {
  const fences = readFileSync(page, 'utf8').matchAll(/^ *```(\S*)[^\n]*\n([\s\S]*?)^ *```$/gm);
  return [...fences].flatMap(([, found, text = '']) => (found === language ? [text] : []));
}
