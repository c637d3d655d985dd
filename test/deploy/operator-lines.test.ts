// Runs the lines that operators copy, with a stand-in for docker that writes down how it was called.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../app/local/temporary-folder.ts';
import { readBlocks } from '../documentation/pages.ts';
import { HANG } from '../setup/patience.ts';

const SCRIPT = resolve('deploy/backup/backup.sh');

/** Puts programs of these names before all others. @returns what runs a shell text there, and the calls of docker */
function standIn(programs: Readonly<Record<string, string>>) {
  const folder = temporaryFolder();
  const calls = join(folder, 'calls');
  writeFileSync(calls, '');
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const env = { ...process.env, CALLS: calls, PATH: `${folder}:${process.env.PATH}` };
  return {
    run: (text: string, more: Record<string, string> = {}) =>
      spawnSync('bash', ['--norc', '-euc', text], {
        cwd: folder,
        env: { ...env, ...more },
        encoding: 'utf8',
        timeout: HANG,
      }),
    calls: () => readFileSync(calls, 'utf8').trim().split('\n'),
  };
}

describe('the upgrade', () => {
  const blocks = readBlocks('docs/operations/upgrade.md');
  const order = blocks.find((text) => text.includes('set_version()')) ?? '';
  const back = blocks.find((text) => text.includes('cp -p .env.former')) ?? '';
  const RAN = 'abcdef012345';
  const replaced = ['replace api', 'replace worker'];
  const setting = 'COUNTERSIGN_VERSION=latest';
  const asked = 'compose exec -T api printenv TRUSTED_PROXIES';
  const network = 'GATEWAY_NETWORK=172.30.83.0/24\n';
  /** Compose refuses every command while a variable that the file needs is missing. */
  const COMPOSE = "grep -q '^AUDIT_KEY=.' .env || printenv AUDIT_KEY > /dev/null || exit 1";

  /** A folder with settings, and programs that write down how they were called. */
  function prepared(docker = '', env: Record<string, string> = {}) {
    const folder = temporaryFolder();
    const example = readFileSync('.env.example', 'utf8');
    writeFileSync(join(folder, '.env'), example.replace(/^AUDIT_KEY=$/m, 'AUDIT_KEY=made'));
    mkdirSync(join(folder, 'deploy'));
    writeFileSync(join(folder, 'deploy/replace.sh'), '#!/bin/bash\necho "replace $1" >> "$CALLS"\n', {
      mode: 0o755,
    });
    const { run, calls } = standIn({
      docker: `${COMPOSE}; echo "$*" >> "$CALLS"; [ "$2" != exec ] || echo 172.30.83.0/24
        [ "$2" != ps ] || echo running; [ "$1" != inspect ] || echo sha256:${RAN}6789; ${docker}`,
      curl: '',
      git: 'echo 0a1b2c3d',
    });
    return {
      run: (text: string) => run(`cd ${folder}; ${text}`, env),
      calls,
      folder,
      settings: () => readFileSync(join(folder, '.env'), 'utf8'),
      set: (line: string) => appendFileSync(join(folder, '.env'), line),
    };
  }

  it('migrates beside the former version, and then replaces the processes of each role', () => {
    const { run, calls } = prepared();
    expect(run(order)).toMatchObject({ status: 0, stderr: '' });
    expect(calls()).toEqual([
      asked,
      'compose ps -q api',
      'inspect --format {{.Image}} running',
      `tag ${RAN} countersign:${RAN}`,
      expect.stringMatching(/^compose build --build-arg REVISION=/),
      'compose run --rm --no-deps migrate',
      'compose exec -T gateway nginx -c /deploy/nginx.conf -s reload',
      ...replaced,
    ]);
  });

  it('keeps the network that the api believes, which no running container can leave, and one that is set', () => {
    const { run, settings } = prepared();
    run(order);
    run(order);
    expect(settings().match(/^GATEWAY_NETWORK=.*\n/gm)).toEqual([network]);
    const other = prepared();
    other.set('GATEWAY_NETWORK=172.16.9.0/24\n');
    other.run(order);
    expect(other.settings().match(/^GATEWAY_NETWORK=.*$/gm)).toEqual(['GATEWAY_NETWORK=172.16.9.0/24']);
  });

  it('gives each image a tag, and the way back starts the former one, also where no line named it', () => {
    for (const line of [`# ${setting}\n`, 'COUNTERSIGN_VERSION=\n', '']) {
      const { run, calls, settings, folder } = prepared();
      const former = settings().replace(`# ${setting}\n`, line);
      writeFileSync(join(folder, '.env'), former);
      expect(run(order).status).toBe(0);
      const versions = () => settings().match(/^.*COUNTERSIGN_VERSION=.*$/gm);
      expect(versions()).toEqual(['COUNTERSIGN_VERSION=0a1b2c3d']);
      const newer = settings();
      // A build may fail, and the lines are repeated.
      run(order);
      expect(settings()).toBe(newer);
      const before = calls().length;
      expect(run(back).status).toBe(0);
      expect(versions()).toEqual([`COUNTERSIGN_VERSION=${RAN}`]);
      expect(calls().slice(before)).toEqual(replaced);
      expect(calls().filter((call) => call.startsWith('tag'))).toHaveLength(1);
    }
  });

  it('takes settings of the environment, with no file', () => {
    const env = { AUDIT_KEY: 'given', COUNTERSIGN_VERSION: 'latest' };
    const { run, calls, settings, folder } = prepared(
      '[ "$2" != build ] || echo "$(printenv COUNTERSIGN_VERSION || echo from the file)" >> "$CALLS"',
      env,
    );
    rmSync(join(folder, '.env'));
    expect(run(order).status).toBe(0);
    expect(calls()).toContain('from the file');
    expect(settings()).toBe(`${network}COUNTERSIGN_VERSION=0a1b2c3d\n`);
  });
});

describe('the exchange of the master key', () => {
  const [exchange = '', end = ''] = readBlocks('docs/operations/wrapped-keys.md').filter((text) =>
    text.includes('exchange()'),
  );

  /** A folder with an old key; writes the value down with which each role was replaced. */
  function prepared(replacing = '') {
    const folder = temporaryFolder();
    writeFileSync(join(folder, '.env'), 'PUBLIC_URL=x\nMASTER_KEY=o+/=\nAUDIT_KEY=a\n');
    mkdirSync(join(folder, 'deploy'));
    const note = 'echo "$1 $(grep ^MASTER_KEY .env)" >> "$CALLS"';
    writeFileSync(join(folder, 'deploy/replace.sh'), `#!/bin/bash\n${note}\n${replacing}\n`, { mode: 0o755 });
    const { run, calls } = standIn({
      docker: '[[ $* == *generate* ]] && echo n+/= || echo "$*" >> "$CALLS"',
    });
    return { run: (text: string) => run(`cd ${folder}; ${text}`), calls };
  }
  const step = (keys: string) => [`api MASTER_KEY=${keys}`, `worker MASTER_KEY=${keys}`];

  it('gives every process the new key before one seals with it, and leaves the old one out in the end', () => {
    const { run, calls } = prepared();
    expect(run(exchange)).toMatchObject({ status: 0, stderr: '' });
    expect(run(end)).toMatchObject({ status: 0, stderr: '' });
    expect(calls()).toEqual([
      ...step('o+/=,n+/='),
      ...step('n+/=,o+/='),
      'compose run --rm --no-deps api master-key reseal',
      ...step('n+/='),
    ]);
  });

  it('stops where a process has not become healthy', () => {
    const { run, calls } = prepared('[ "$1" != worker ]');
    expect(run(exchange).status).toBe(1);
    expect(calls()).toEqual(step('o+/=,n+/='));
  });
});

it('passwords of the database are changed in .env and in Postgres, before what uses them starts anew', () => {
  const [define = '', ...blocks] = readBlocks('docs/operations/database-passwords.md');
  const folder = temporaryFolder();
  const names = ['POSTGRES_PASSWORD', 'DATABASE_ROLE_PASSWORD', 'TEMPORAL_DATABASE_PASSWORD'];
  writeFileSync(join(folder, '.env'), names.map((name) => `${name}=former\n`).join(''));
  mkdirSync(join(folder, 'deploy'));
  writeFileSync(join(folder, 'deploy/replace.sh'), '#!/bin/bash\necho "replace $1" >> "$CALLS"\n', {
    mode: 0o755,
  });
  const { run, calls } = standIn({ docker: 'echo "$*" >> "$CALLS"; [ "$2" != exec ] || cat >> "$CALLS"' });
  expect(blocks).toHaveLength(3);
  for (const block of blocks)
    expect(run(`cd ${folder}; ${define}${block}`)).toMatchObject({ status: 0, stderr: '' });
  const changed = [...readFileSync(join(folder, '.env'), 'utf8').matchAll(/^\w+=([0-9a-f]{32})$/gm)];
  expect(new Set(changed.map(([, password]) => password)).size).toBe(3);
  expect(calls()).toEqual([
    'compose run --rm --no-deps migrate',
    'replace api',
    'replace worker',
    'compose exec -T postgres psql -U countersign -d countersign',
    `ALTER ROLE countersign PASSWORD '${changed[0]?.[1]}'`,
    'compose run --rm --no-deps temporal-role',
    'compose up -d --no-deps temporal',
  ]);
});

describe('the backup', () => {
  const archive = (label: string) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, label), 'START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\n');
    execFileSync('tar', ['cf', 'base.tar', label], { cwd: folder });
    return join(folder, 'base.tar');
  };

  it.each([
    ['a whole archive', 'backup_label', '', 0],
    ['a Postgres that ends too early', 'backup_label', '; exit 1', 1],
    ['an archive that is no backup', 'PG_VERSION', '', 2],
    ['no Postgres', '', 'exit 1', 1],
  ])('of %s leaves a file only if it is good', (_what, label, ending, code) => {
    const answer = label === '' ? ending : `cat ${archive(label)}${ending}`;
    const { run, calls } = standIn({ docker: `echo "$PWD $*" >> "$CALLS"; ${answer}` });
    const folder = temporaryFolder();
    expect(run(`${SCRIPT} ${folder}`).status).toBe(code);
    expect(calls()[0]).toContain(`${resolve('.')} compose exec -T postgres psql`);
    const whole = readdirSync(folder).filter((name) => /^countersign-\d{4}-\d\d-\d\d\.tar\.gz$/.test(name));
    expect(whole).toHaveLength(code === 0 ? 1 : 0);
    expect(readdirSync(folder)).toEqual(whole);
    // The oldest backup of the folder is this one.
    const cleanup = ' 000000010000000000000002';
    expect(calls().filter((call) => call.endsWith(cleanup))).toHaveLength(code === 0 ? 1 : 0);
  });

  it('removes backups older than KEEP days, and copied WAL that the oldest one left does not need', () => {
    const { run } = standIn({ docker: `[[ $* != *psql* ]] || cat ${archive('backup_label')}` });
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'wal'));
    const wal = ['000000010000000000000001.gz', '000000010000000000000002.gz', '00000002.history.gz'];
    for (const name of wal) writeFileSync(join(folder, 'wal', name), '');
    const old = ['countersign-2026-05-01.tar.gz', 'countersign-2026-05-02.tar.gz', 'notes.txt'];
    for (const name of old) execFileSync('touch', ['-d', '3 days ago', join(folder, name)]);
    expect(run(`${SCRIPT} ${folder}`, { KEEP: '2' })).toMatchObject({ status: 0, stderr: '' });
    const left = readdirSync(folder);
    expect(left.filter((name) => old.includes(name))).toEqual(['notes.txt']);
    expect(left.filter((name) => name.startsWith('countersign-'))).toHaveLength(1);
    expect(readdirSync(join(folder, 'wal')).toSorted()).toEqual(wal.slice(1));
  });

  it('removes no old backup when the new one fails', () => {
    const { run } = standIn({ docker: 'exit 1' });
    const folder = temporaryFolder();
    execFileSync('touch', ['-d', '90 days ago', join(folder, 'countersign-2026-05-01.tar.gz')]);
    expect(run(`${SCRIPT} ${folder}`).status).toBe(1);
    expect(readdirSync(folder)).toEqual(['countersign-2026-05-01.tar.gz']);
  });

  it('copies the archived WAL into the folder, and the folder elsewhere', () => {
    const volume = temporaryFolder();
    for (const name of ['000000010000000000000001.gz', '000000010000000000000002.gz.part'])
      writeFileSync(join(volume, name), name);
    const { run, calls } = standIn({
      docker: `shift $(($# - 1)); ARCHIVE=${volume} sh -euc "$1"`,
      rsync: 'echo "$*" >> "$CALLS"',
    });
    const folder = temporaryFolder();
    const line = `COPY_TO=there:copies ${SCRIPT} ${folder} --wal`;
    expect(run(`${line}; ${line}`)).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(join(folder, 'wal'))).toEqual(['000000010000000000000001.gz']);
    expect(calls()).toEqual(Array(2).fill(`-a ${folder}/ there:copies/`));
  });

  it.each([true, false])('goes back by the lines of the page; there is former data: %s', (isFull) => {
    const block = readBlocks('docs/fresh-host.md').find((text) => text.includes('lost-$')) ?? '';
    const volume = temporaryFolder();
    const wal = temporaryFolder();
    if (isFull) {
      mkdirSync(join(volume, '18', 'docker'), { recursive: true });
      writeFileSync(join(volume, '18', 'docker', 'former'), '');
      writeFileSync(join(wal, '000000010000000000000001.gz'), '');
    }
    const gzipped = `${archive('backup_label')}.gz`;
    execFileSync('gzip', [gzipped.slice(0, -3)]);
    const { run, calls } = standIn({
      docker: `echo "$*" >> "$CALLS"; [ "$2" = run ] && shift $(($# - 1)) || exit 0
        [[ $1 != *lost-* ]] || bash -euc "$(sed "s|/var/lib/postgresql|$VOLUME|" <<< "$1")"`,
      chown: '',
    });
    const variables = { VOLUME: volume, ARCHIVE: wal, BACKUP: gzipped };
    expect(run(block, variables)).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(join(volume, '18', 'docker'))).toEqual(['backup_label']);
    const lost = readdirSync(join(volume, '18')).filter((name) => name.startsWith('lost-'));
    expect(lost).toHaveLength(isFull ? 1 : 0);
    if (isFull) expect(existsSync(join(volume, '18', lost[0] ?? '', 'former'))).toBe(true);
    const [before = ''] = readdirSync(wal);
    expect(readdirSync(join(wal, before))).toEqual(isFull ? ['000000010000000000000001.gz'] : []);
    expect(calls()[0]).toBe('compose stop gateway api worker temporal postgres');
    // The service's own image and volume: no name of either can differ from docker-compose.yml.
    expect(calls()[1]).toBe('compose run --rm --no-deps -T --entrypoint bash postgres -euc ');
    expect(calls().slice(-7)).toEqual([
      'compose up -d --wait postgres',
      // The passwords of the backup may be lost: the owner gets that of .env, and the other roles theirs by the owner.
      'compose exec -T postgres psql -U countersign -qf /deploy/owner-password.sql',
      'compose up -d migrate',
      'compose run --rm --no-deps worker restore-check',
      'compose up -d --scale worker=1',
      'compose run --rm --no-deps worker restore-check',
      'compose up -d',
    ]);
  });

  it('puts a copied archive where an empty machine restores from', () => {
    const block = readBlocks('docs/fresh-host.md').find((text) => text.includes('tar cf - -C')) ?? '';
    const [WAL, ARCHIVE] = [temporaryFolder(), temporaryFolder()];
    writeFileSync(join(WAL, '000000010000000000000001.gz'), '');
    const { run } = standIn({ docker: 'shift $(($# - 1)); sh -euc "$1"' });
    expect(run(block, { WAL, ARCHIVE })).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(ARCHIVE)).toEqual(['000000010000000000000001.gz']);
  });

  it.each([true, false])('goes on to a minute by the archived WAL; there is former data: %s', (isFull) => {
    const block = readBlocks('docs/fresh-host.md').find((text) => text.includes('recovery.signal')) ?? '';
    const volume = temporaryFolder();
    const wal = temporaryFolder();
    mkdirSync(join(wal, 'before-2'));
    for (const name of ['docker', ...(isFull ? ['lost-1', 'lost-2'] : [])])
      mkdirSync(join(volume, '18', name, 'pg_wal'), { recursive: true });
    if (isFull) writeFileSync(join(volume, '18', 'lost-2', 'pg_wal', '000000010000000000000009'), '');
    const { run, calls } = standIn({
      docker: `echo "$*" >> "$CALLS"; [ "$2" != exec ] || echo f; [ "$2" = run ] && shift $(($# - 1)) || exit 0
        bash -euc "$(sed "s|cd /var/lib/postgresql|cd $VOLUME|" <<< "$1")"`,
      chown: '',
    });
    const TO = '2026-05-04 09:30:00+00';
    expect(run(block, { VOLUME: volume, ARCHIVE: wal, TO })).toMatchObject({ status: 0, stderr: '' });
    const restored = join(volume, '18', 'docker');
    expect(readdirSync(restored).toSorted()).toEqual(['pg_wal', 'postgresql.auto.conf', 'recovery.signal']);
    expect(readdirSync(join(restored, 'pg_wal'))).toEqual(isFull ? ['000000010000000000000009'] : []);
    expect(readFileSync(join(restored, 'postgresql.auto.conf'), 'utf8').split('\n').slice(0, 3)).toEqual([
      `restore_command = 'gunzip -c "${wal}/before-2/%f.gz" > "%p"'`,
      `recovery_target_time = '${TO}'`,
      'recovery_target_action = promote',
    ]);
    expect(calls()[0]).toContain('compose run --rm --no-deps -T -e TO --entrypoint bash postgres -euc');
    expect(calls().at(-1)).toContain('pg_is_in_recovery()');
  });
});
