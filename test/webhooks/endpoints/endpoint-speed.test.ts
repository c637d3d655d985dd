import { describe, expect, it } from 'vitest';
import { createEndpointSpeeds, speedOf } from '../../../src/webhooks/endpoints/endpoint-speed.ts';

describe('the speed of an endpoint', () => {
  it('is unknown until there are a few answers, then nine in ten are below it', () => {
    const speeds = createEndpointSpeeds();
    for (const ms of [10, 10, 10, 10]) speeds.note('endpoint', ms);
    expect(speeds.p90('endpoint')).toBeUndefined();
    for (let n = 0; n < 16; n += 1) speeds.note('endpoint', n === 0 ? 5_000 : 10);
    expect(speeds.p90('endpoint')).toBe(10);
    for (let n = 0; n < 4; n += 1) speeds.note('endpoint', 5_000);
    expect(speeds.p90('endpoint')).toBe(5_000);
  });

  it('forgets old answers', () => {
    const speeds = createEndpointSpeeds();
    for (let n = 0; n < 32; n += 1) speeds.note('endpoint', 5_000);
    for (let n = 0; n < 32; n += 1) speeds.note('endpoint', 20);
    expect(speeds.p90('endpoint')).toBe(20);
  });

  it('is to be stored when it has moved, and not each time', () => {
    const speeds = createEndpointSpeeds();
    for (let n = 0; n < 8; n += 1) speeds.note('endpoint', 100);
    expect(speeds.changed()).toEqual([{ endpoint: 'endpoint', p90Ms: 100 }]);
    for (let n = 0; n < 32; n += 1) speeds.note('endpoint', 110);
    expect(speeds.changed()).toEqual([]);
    for (let n = 0; n < 32; n += 1) speeds.note('endpoint', 400);
    expect(speeds.changed()).toEqual([{ endpoint: 'endpoint', p90Ms: 400 }]);
  });

  it.each([
    { known: 'nothing', stored: { p90Ms: null, failing: false }, seen: undefined, speed: 'unproven' },
    { known: 'a fast row', stored: { p90Ms: 20, failing: false }, seen: undefined, speed: 'fast' },
    { known: 'a fast row that fails', stored: { p90Ms: 20, failing: true }, seen: 20, speed: 'unproven' },
    {
      known: 'a fast row and slow answers',
      stored: { p90Ms: 20, failing: false },
      seen: 2_000,
      speed: 'slow',
    },
    {
      known: 'a slow row and fast answers',
      stored: { p90Ms: 2_000, failing: false },
      seen: 200,
      speed: 'fast',
    },
    { known: 'nearly a second', stored: { p90Ms: 999, failing: false }, seen: undefined, speed: 'fast' },
    { known: 'a second', stored: { p90Ms: 1_000, failing: false }, seen: undefined, speed: 'slow' },
  ])('makes an endpoint $speed with $known', ({ stored, seen, speed }) => {
    expect(speedOf(stored, seen)).toBe(speed);
  });
});
