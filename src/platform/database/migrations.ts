// The list of migrations: the first creates the schema of 0.2.0, later ones add to it. Entries stay unchanged.
import type { MigrationStep } from './migration-steps.ts';
import { initial } from './migrations/0001-initial.ts';

/** `name` is that of the file. The database records it. */
export type Migration = { readonly name: string; readonly steps: readonly MigrationStep[] };

export const MIGRATIONS: readonly Migration[] = [{ name: '0001-initial', steps: [initial] }];
