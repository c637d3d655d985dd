import { describe, expect, it } from 'vitest';
import { createEndpointOccupancy } from '../../../src/webhooks/endpoints/endpoint-occupancy.ts';

describe('the places of an endpoint', () => {
  it('are given until there are no more, and again when one has left', () => {
    const places = createEndpointOccupancy();
    expect([places.enter('l', 'a', 2), places.enter('l', 'b', 2), places.enter('l', 'c', 2)]).toEqual([
      true,
      true,
      false,
    ]);
    places.leave('l', 'a');
    expect([places.enter('l', 'c', 2), places.size('l')]).toEqual([true, 2]);
  });

  it('are held once by a delivery that the relay has claimed and that is under way, until both are over', () => {
    const places = createEndpointOccupancy();
    places.add('l', 'a');
    expect([places.enter('l', 'a', 1), places.size('l')]).toEqual([true, 1]);
    places.leave('l', 'a');
    expect([places.size('l'), places.enter('l', 'b', 1)]).toEqual([1, false]);
    places.leave('l', 'a');
    expect([places.size('l'), places.enter('l', 'b', 1)]).toEqual([0, true]);
  });

  it('are of each endpoint its own, and leaving without a place does nothing', () => {
    const places = createEndpointOccupancy();
    places.leave('l', 'a');
    expect([places.enter('l', 'a', 1), places.enter('m', 'a', 1), places.enter('m', 'b', 1)]).toEqual([
      true,
      true,
      false,
    ]);
    places.leave('m', 'b');
    expect([places.size('l'), places.size('m')]).toEqual([1, 1]);
  });

  it('call the attempt that has waited longest when one is given back, and none that has stopped to wait', () => {
    const places = createEndpointOccupancy();
    const called: string[] = [];
    const wait = (name: string) => places.onLeave('l', () => called.push(name));
    for (const name of ['a', 'b', 'c', 'd']) places.enter('l', name, 4);
    wait('first');
    const end = wait('second');
    wait('third');
    end();
    end();
    places.leave('l', 'a');
    expect(called).toEqual(['first']);
    places.leave('m', 'a');
    places.leave('l', 'b');
    expect(called).toEqual(['first', 'third']);
    places.leave('l', 'c');
    expect(called).toEqual(['first', 'third']);
  });
});
