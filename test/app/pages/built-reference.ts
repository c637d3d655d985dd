// Makes the guides and the API reference as the build does, in a folder, and serves them.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findReferencePages } from '../../../src/app/pages/built-pages.ts';
import { ADVICE } from '../../../src/platform/errors/advice.ts';
import { publishErrors } from '../../../src/platform/errors/catalogue.ts';
import { startTestServer, tenantNamed } from '../../platform/http/test-server.ts';

/** The addresses of the tenants by slug. */
export const TENANTS: Readonly<Record<string, string>> = {
  demo: 'https://id.example',
  acme: 'https://id.example/t/acme',
};

/** @returns the folder, which the caller removes */
export async function buildReference(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'reference-'));
  const script = await import(/* @vite-ignore */ resolve('scripts/reference.mjs'));
  const document = JSON.parse(readFileSync('openapi.json', 'utf8'));
  script.buildReference(folder, { document, errors: publishErrors(), advice: ADVICE });
  return folder;
}

/** Serves the pages of two tenants: `demo` at the root, and `acme` at /t/acme. */
export async function serveReference() {
  const folder = await buildReference();
  const server = await startTestServer([], {
    pages: [findReferencePages(folder)],
    tenants: {
      bySlug: async (slug) => {
        const baseUrl = TENANTS[slug];
        return baseUrl === undefined ? undefined : { ...tenantNamed(slug), baseUrl };
      },
    },
  });
  const close = async (): Promise<void> => {
    await server.drain(0);
    rmSync(folder, { recursive: true, force: true });
  };
  return { folder, server, close };
}
