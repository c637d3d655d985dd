// The stack of the deployment driver: a clone of the commit that is upgraded from, compose's settings with names and
// ports that nothing else uses, and what the engine says of its containers.
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const PROJECT = 'countersign-deployment';
/** The project of a machine that takes over. */
const OTHER = 'countersign-other';
const DOWN = ['down', '--volumes', '--remove-orphans'];
/** Docker gives networks of 172.17 to 172.31 by itself, so one of those may be in use. */
const NETWORK = '172.16.184.0/24';
const PRIVATE = '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16';
/** No setting of the service comes from the environment of this process: compose would take it before `.env`. */
const INHERITED = /^(PATH|HOME|LANG|TMPDIR|XDG_.+|SSH_.+|DOCKER_.+|BUILDKIT_.+|BUILDX_.+|\w+_proxy)$/i;

/** @returns {string | undefined} why there can be no deployment here */
export function reasonNotToRun() {
  const asked = (...args) => spawnSync('docker', args, { encoding: 'utf8', timeout: 30_000 });
  if (asked('version', '--format', '{{.Server.Version}}').status !== 0) return 'no Docker engine';
  if (asked('compose', 'version').status !== 0) return 'no Compose v2';
  return undefined;
}

/**
 * @param {{ root: string, from: string, to: string, say: (line: string) => void }} needs the clone with both commits
 */
export async function createStack({ root, from, to, say }) {
  const place = mkdtempSync(join(tmpdir(), 'countersign-deployment-'));
  const folder = join(place, 'countersign');
  const ports = { gateway: await freePort(), receiver: await freePort() };
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => INHERITED.test(name)));
  const versions = [from, to].map((commit) => commit.slice(0, 8));
  const removable = versions.map((version) => `countersign:${version}`).filter((tag) => !isImage(tag));

  async function clone(commit) {
    await run('git', 'clone', '--quiet', '--shared', '--no-checkout', root, folder);
    await run('git', '-C', folder, 'checkout', '--quiet', commit);
  }
  await clone(from);
  writeFileSync(join(place, 'beside.yml'), besideOf(join(folder, 'Dockerfile'), ports));

  /** @returns {Promise<string>} what a program printed */
  function run(command, ...args) {
    const child = spawn(command, args, { cwd: place, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      printed += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      said += chunk;
    });
    return new Promise((done, fail) => {
      child.once('error', fail).once('close', (code) => {
        if (code === 0) done(printed.trim());
        else fail(new Error(`${command} ${args.join(' ')} ended with ${code}: ${said.slice(-1_000)}`));
      });
    });
  }
  let [project, version] = [PROJECT, versions[0]];
  const ofProject = (name = project) => ['--filter', `label=com.docker.compose.project=${name}`];
  const lines = (text) => text.split('\n').filter(Boolean);
  /** @returns {Promise<string[]>} the ids of the containers of a service that run */
  const containers = async (service, ...filters) =>
    lines(
      await run(
        ...['docker', 'ps', '-q', ...ofProject(), '--filter', `label=com.docker.compose.service=${service}`],
        ...filters.flatMap((filter) => ['--filter', filter]),
      ),
    );

  return {
    ...{ place, folder, ports, env, run, containers, host: 'id.example.com' },
    origin: `http://127.0.0.1:${ports.gateway}`,
    /** What differs from a deployment: names, ports, and that a receiver may be in a private network. */
    settle() {
      const file = join(folder, '.env');
      const given = readFileSync(file, 'utf8');
      writeFileSync(file, given.replace(/^# COUNTERSIGN_VERSION=.*$/m, `COUNTERSIGN_VERSION=${version}`));
      const own = {
        COMPOSE_PROJECT_NAME: project,
        COMPOSE_FILE: `${join(folder, 'docker-compose.yml')}:${join(place, 'beside.yml')}`,
        GATEWAY_NETWORK: process.env.GATEWAY_NETWORK ?? NETWORK,
        RATE_LIMIT_ADDRESS: '0',
        WEBHOOK_ALLOWED_NETWORKS: PRIVATE,
      };
      appendFileSync(
        file,
        Object.entries(own)
          .map(([name, value]) => `${name}=${value}\n`)
          .join(''),
      );
    },
    /** Waits until so many containers of a service run and are healthy. */
    async healthy(service, count) {
      const began = Date.now();
      while ((await containers(service, 'health=healthy')).length !== count) {
        if (Date.now() - began > 300_000) throw new Error(`${service}: not ${count} healthy after 5 minutes`);
        await sleep(500);
      }
    },
    /** @returns {Promise<string>} where deliveries go: without TLS only an address can be named */
    async hook() {
      const [id] = await containers('receiver');
      const address = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
      return `http://${await run('docker', 'inspect', '--format', address, id)}:9000/hook`;
    },
    /** @returns {Promise<string[]>} faults where a container of either role runs another image */
    async wrongImages(wanted) {
      const ids = [...(await containers('api')), ...(await containers('worker'))];
      // The way back names the former image by its digits, so names are not compared.
      const found = lines(await run('docker', 'inspect', '--format', '{{.Image}}', ...ids));
      const image = imageOf(wanted);
      return found.filter((one) => one !== image).map((one) => `${one} runs, not ${wanted} (${image})`);
    },
    /** @returns {Promise<string>} MiB of memory by service, the largest container of each */
    async memory() {
      const ids = (
        await Promise.all(
          ['api', 'worker', 'postgres', 'temporal', 'gateway'].map((name) => containers(name)),
        )
      ).flat();
      const rows = lines(
        await run('docker', 'stats', '--no-stream', '--format', '{{.Name}} {{.MemUsage}}', ...ids),
      );
      const largest = new Map();
      for (const row of rows) {
        const [, service, amount, unit] = /^\S+?-deployment-(.+)-\d+ ([\d.]+)(\w+)/.exec(row) ?? [];
        const size = Math.round(Number(amount) * (unit === 'GiB' ? 1_024 : unit === 'KiB' ? 1 / 1_024 : 1));
        if (service !== undefined) largest.set(service, Math.max(size, largest.get(service) ?? 0));
      }
      return [...largest]
        .sort()
        .map(([service, size]) => `${service} ${size}`)
        .join(', ');
    },
    /** @returns {Promise<string>} the last lines of the roles */
    logs: () =>
      run(
        'docker',
        'compose',
        '--project-directory',
        folder,
        'logs',
        '--tail',
        '15',
        ...['migrate', 'api', 'worker'],
      ),
    /** Takes the project down with its volumes; in place of its folder there is a clone of a commit, for another one. */
    async lose(commit) {
      await run('docker', 'compose', '--project-directory', folder, ...DOWN);
      rmSync(folder, { recursive: true });
      await clone(commit);
      [project, version] = [OTHER, commit.slice(0, 8)];
    },
    /** Removes everything. @returns {Promise<string[]>} all that the engine still has of the project */
    async down() {
      say('taking the stack down');
      await run('docker', 'compose', '--project-directory', folder, ...DOWN);
      // The upgrade's lines give the image that ran a tag of its digits.
      const digits = removable.map((tag) => `countersign:${imageOf(tag).slice(7, 19)}`);
      for (const tag of [...digits, ...removable]) if (isImage(tag)) await run('docker', 'image', 'rm', tag);
      rmSync(place, { recursive: true, force: true });
      const left = [
        ['ps', '-a'],
        ['volume', 'ls'],
        ['network', 'ls'],
      ];
      const found = [PROJECT, OTHER].flatMap((name) =>
        left.map((words) => spawnSync('docker', [...words, '-q', ...ofProject(name)], { encoding: 'utf8' })),
      );
      return found.flatMap(({ stdout }) => lines(stdout));
    },
  };
}

const imageOf = (tag) =>
  spawnSync('docker', ['image', 'inspect', '--format', '{{.Id}}', tag], { encoding: 'utf8' }).stdout?.trim();
const isImage = (tag) => imageOf(tag) !== '';

/** The gateway at a port that is free, no UI, and the receiver with the Node.js of the image. */
function besideOf(dockerfile, ports) {
  const [, image] = /^FROM (\S+) AS build$/m.exec(readFileSync(dockerfile, 'utf8')) ?? [];
  return `services:
  gateway:
    ports: !override ["127.0.0.1:${ports.gateway}:8080"]
  temporal-ui:
    ports: !reset []
  receiver:
    image: ${image}
    command: ["node", "/driver/receiver.mjs"]
    init: true
    restart: unless-stopped
    ports: ["127.0.0.1:${ports.receiver}:9000"]
    volumes: ["${import.meta.dirname}:/driver:ro"]
`;
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once('error', fail).listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      server.close(() => done(port));
    });
  });
}
