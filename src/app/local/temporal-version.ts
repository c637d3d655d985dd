// The versions of Temporal: test/deploy/temporal-version.test.ts holds docker-compose.yml and the pages to them.

/** What a deployment runs, and the release of the command line that has both. */
export const TEMPORAL = { server: '1.31.0', ui: '2.49.1', cli: '1.7.1' } as const;

/**
 * The oldest server that the workflows know, and the release of the command line that has it. Go can build no later
 * release from a module proxy: those need a module of their repository that has no release.
 */
export const LOWEST = { server: '1.29.1', cli: '1.5.1' } as const;
