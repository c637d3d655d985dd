// Bounds the bytes of bodies in memory. A body has its room before it is read, and keeps it to the end of its request;
// without room, its request waits, and its connection is not read meanwhile.
import { ServiceError } from '../errors/service-error.ts';
import { createRoom, type RoomBounds, type RoomOwner } from '../room.ts';

const MIB = 1024 * 1024;

/** A body's text and value take up to four times its bytes of a heap that may have 256 MiB. */
const BOUNDS: RoomBounds = { client: 4 * MIB, tenant: 8 * MIB, process: 24 * MIB };

/** Requests that wait for room. The first 64 KiB of each body are in memory already. */
const WAITING: RoomBounds = { client: 256, tenant: 512, process: 1_024 };

/** Milliseconds to wait for room. */
const PATIENCE = 10_000;

/** Bytes that a request may have without room. */
export const FREE_BODY = 16_384;

type Waiting = { readonly of: RoomOwner; readonly begin: () => boolean };

/** @param options replace the defaults in tests */
export function createBodyRoom({ bounds = BOUNDS, waiting = WAITING, patience = PATIENCE } = {}) {
  const room = createRoom(bounds);
  const places = createRoom(waiting);
  const queue = new Set<Waiting>();

  const isFirst = ({ tenant, client }: RoomOwner): boolean =>
    ![...queue].some(({ of }) => of.tenant === tenant && of.client === client);

  /** Takes room now. What gives it back lets waiting requests begin, in order of arrival. */
  function takeNow(of: RoomOwner, bytes: number): (() => void) | undefined {
    const giveBack = room.take(of, bytes);
    if (giveBack === undefined) return undefined;
    return () => {
      giveBack();
      for (const one of queue) one.begin();
    };
  }

  function wait(of: RoomOwner, bytes: number): Promise<() => void> {
    const leave = places.take(of, 1);
    if (leave === undefined) return Promise.reject(noRoom());
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        leave();
        queue.delete(one);
      };
      const begin = (): boolean => {
        const giveBack = takeNow(of, bytes);
        if (giveBack === undefined) return false;
        end();
        resolve(giveBack);
        return true;
      };
      const one = { of, begin };
      const timer = setTimeout(() => {
        end();
        reject(noRoom());
      }, patience);
      queue.add(one);
    });
  }

  return {
    /**
     * Takes room for a body that is not read yet.
     * @returns a function that gives the room back
     * @throws ServiceError `temporarily_unavailable` when there was none in time, or too many wait for it
     */
    take: async (of: RoomOwner, bytes: number): Promise<() => void> =>
      (isFirst(of) ? takeNow(of, bytes) : undefined) ?? wait(of, bytes),
    /** The bytes that have room. */
    held: room.held,
  };
}

export type BodyRoom = ReturnType<typeof createBodyRoom>;

/** The connection ends, because what is left of the body would have to be read from it. */
function noRoom(): ServiceError {
  return new ServiceError('temporarily_unavailable', {
    detail: 'Too many bytes of other bodies are worked on. Try again.',
    retryAfterSeconds: 1,
    headers: { connection: 'close' },
  });
}
