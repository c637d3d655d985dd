import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../app/local/temporary-folder.ts';
import { sortByNeed } from './needs.ts';

describe('the project of a test file', () => {
  it('is that of the greatest need that it reaches by imports of values', () => {
    const folder = join(temporaryFolder(), 'test');
    mkdirSync(join(folder, 'room'), { recursive: true });
    const write = (name: string, ...lines: string[]) => writeFileSync(join(folder, name), lines.join('\n'));
    // Not as one text, which would be a sign of what this file needs.
    const asking = (name: string) => `export const x = inject('${name}');`;
    const spawning = `import {\n  spawn,\n} from 'node:${'child_process'}';`;
    write('database.ts', asking('databaseUrl'));
    write('engine.ts', "import { x } from './database.ts';", asking('temporalAddress'));
    write('stack.ts', spawning, "export * from './engine.ts';");
    write('inner.ts', "import { nothing } from '../outside.ts';");
    write('a.test.ts', "import type { Engine } from './engine.ts';", "import { x } from './inner.ts';");
    write('room/b.test.ts', "import {\n  x,\n} from '../database.ts';");
    write('c.test.ts', "import { x } from './engine.ts';");
    write('d.test.ts', "const { x } = await import('./stack.ts');");
    expect(sortByNeed(folder)).toEqual({
      pure: ['test/a.test.ts'],
      database: ['test/room/b.test.ts'],
      temporal: ['test/c.test.ts'],
      processes: ['test/d.test.ts'],
    });
  });

  it('that starts no server has none for it', async () => {
    // A path that is not read as an import leaves this file pure.
    const hidden = './database.ts';
    const { createTestDatabase } = await import(hidden);
    await expect(createTestDatabase()).rejects.toThrow('not-started.invalid');
  });
});
