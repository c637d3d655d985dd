import { describe, expect, it } from 'vitest';
import { firstClosedFolder, firstUnreadable, foldersOf } from '../../../src/app/local/reachable.ts';

const postgres = { uid: 101, gid: 104 };
const root = (path: string, mode: number) => ({ path, uid: 0, gid: 0, mode: 0o040000 | mode });

describe('whether user postgres can reach a folder', () => {
  it('names the first folder of the way that is closed to others', () => {
    const way = [root('/', 0o755), root('/private', 0o700), root('/private/clone', 0o700)];
    expect(firstClosedFolder(way, postgres)).toBe('/private');
  });

  it('needs no more than the right to enter', () => {
    expect(firstClosedFolder([root('/', 0o711), root('/srv', 0o711)], postgres)).toBeNull();
  });

  it.each([
    ['the owner, whatever others may', { uid: 101, gid: 0, mode: 0o700 }, null],
    ['the owner who shut himself out, although others may enter', { uid: 101, gid: 0, mode: 0o677 }, '/x'],
    ['the group', { uid: 0, gid: 104, mode: 0o710 }, null],
    ['the group that is shut out, although others may enter', { uid: 0, gid: 104, mode: 0o701 }, '/x'],
    ['others without the right', { uid: 0, gid: 0, mode: 0o754 }, '/x'],
  ])('counts only the first class that fits: %s', (_, access, expected) => {
    expect(firstClosedFolder([{ path: '/x', ...access }], postgres)).toBe(expected);
  });

  it('never stops root', () => {
    expect(firstClosedFolder([{ path: '/x', uid: 5, gid: 5, mode: 0 }], { uid: 0, gid: 0 })).toBeNull();
  });

  it('finds a file that a strict umask closed', () => {
    expect(firstUnreadable([root('/a', 0o644), root('/b', 0o600)], postgres)).toBe('/b');
  });

  it('lists the folders of a path from the root down', () => {
    expect(foldersOf('/srv/me/clone')).toEqual(['/', '/srv', '/srv/me', '/srv/me/clone']);
  });
});
