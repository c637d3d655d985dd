// The official library for Rust, from crates.io.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { captureDeliveries, judgeByProgram, run, writeLines } from '../standard-webhooks.mjs';

const VERSION = '1.0.1';

const MANIFEST = `[package]
name = "judge"
version = "0.0.0"
edition = "2021"

[dependencies]
standardwebhooks = "=${VERSION}"
base64 = "0.22"
http = "1"
`;

export const judge = {
  name: 'Standard Webhooks, Rust',
  version: `standardwebhooks ${VERSION}`,
  what: 'v1 of each delivery, over a rotation of the secret under load',
  needs: ['cargo'],
  run: async ({ say, folder }) => {
    mkdirSync(join(folder, 'src'));
    writeFileSync(join(folder, 'Cargo.toml'), MANIFEST);
    copyFileSync(join(import.meta.dirname, 'main.rs'), join(folder, 'src', 'main.rs'));
    await run('cargo', ['build', '--quiet'], { cwd: folder });
    const { lines } = await captureDeliveries(say);
    return judgeByProgram(join(folder, 'target', 'debug', 'judge'), [writeLines(folder, lines)]);
  },
};
