// Shares what a process has of something, such as memory, among tenants and their clients, and keeps some of it free
// for those that come later.

import { addressGroup } from './address-group.ts';
import { clientNameOf, type RequestContext } from './context.ts';

/** Units (bytes, readers) of one client, of one tenant, and of the process. */
export type RoomBounds = { readonly client: number; readonly tenant: number; readonly process: number };

/** `client`: a name in its tenant. */
export type RoomOwner = { readonly tenant: string; readonly client: string };

/** A client may hold so many times what its tenant has left: alone it has at most four fifths. */
const TIMES = 4;

/**
 * A tenant has at most as much as the process has left, and a client four times what its tenant has left, so that
 * several of them never use up everything (dynamic thresholds; Choudhury and Hahne, 1998).
 */
export function createRoom(bounds: RoomBounds) {
  const held = new Map<string, number>();
  const sumOf = (key: string): number => held.get(key) ?? 0;
  const clientKey = ({ tenant, client }: RoomOwner): string => `${tenant} ${client}`;

  const add = (key: string, units: number): void => {
    const sum = sumOf(key) + units;
    if (sum === 0) held.delete(key);
    else held.set(key, sum);
  };

  /** Whose bound is reached, so that `take` would give no room; undefined while there is some. */
  function fullFor(of: RoomOwner): keyof RoomBounds | undefined {
    const [ofTenant, left] = [sumOf(of.tenant), bounds.process - sumOf('')];
    if (ofTenant >= bounds.tenant) return 'tenant';
    if (ofTenant >= left) return 'process';
    return sumOf(clientKey(of)) >= Math.min(bounds.client, TIMES * (bounds.tenant - ofTenant))
      ? 'client'
      : undefined;
  }

  /** Takes room also where there is none left. @returns a function that gives it back, once */
  function hold(of: RoomOwner, units: number): () => void {
    const keys = ['', of.tenant, clientKey(of)];
    for (const key of keys) add(key, units);
    let isHeld = true;
    return () => {
      if (isHeld) for (const key of keys) add(key, -units);
      isHeld = false;
    };
  }

  return {
    fullFor,
    hold,
    /**
     * Takes room; the last units of an owner may be more than it has left.
     * @returns a function that gives the room back, once; undefined where a bound is reached
     */
    take: (of: RoomOwner, units: number) => (fullFor(of) === undefined ? hold(of, units) : undefined),
    /** The units that are taken in this process. */
    held: (): number => sumOf(''),
  };
}

export type Room = ReturnType<typeof createRoom>;

/** Whose room a request takes. Strangers share no room with those who have a token of the tenant. */
export function roomOwnerOf({ tenant, principal, address }: RequestContext): RoomOwner {
  if (principal === undefined) return { tenant: `${tenant.id} strangers`, client: addressGroup(address) };
  return { tenant: tenant.id, client: clientNameOf(principal) };
}
