// What the logger writes, and what it must keep to itself.
import { Writable } from 'node:stream';
import { DatabaseError } from 'sequelize';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/platform/logger.ts';

function capture(logFormat: 'json' | 'pretty', logLevel: 'debug' | 'warn' = 'debug') {
  const chunks: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { logger: createLogger({ logLevel, logFormat }, destination), text: () => chunks.join('') };
}

describe('the logger', () => {
  it('writes one JSON object a line, with time and level by name', () => {
    const { logger, text } = capture('json');
    logger.info({ a: 1 }, 'hello');
    expect(JSON.parse(text())).toMatchObject({
      level: 'info',
      a: 1,
      msg: 'hello',
      time: expect.stringMatching(/Z$/),
    });
  });

  it('writes for people', () => {
    const { logger, text } = capture('pretty');
    logger.info('hello');
    expect(text()).toMatch(/INFO.*hello/);
  });

  it('leaves out what is below its level', () => {
    const { logger, text } = capture('json', 'warn');
    logger.info('hello');
    expect(text()).toBe('');
  });

  it("tells an error's type, message, code, stack and causes, but not the values of its statement", () => {
    const driver = Object.assign(new Error('duplicate key'), {
      code: '23505',
      detail: 'Key (hash)=(hunter2)',
    });
    const error = new DatabaseError(
      Object.assign(driver, { sql: "INSERT 'hunter2'", parameters: ['hunter2'] }),
    );
    const { logger, text } = capture('json');
    logger.error({ err: new Error('outer', { cause: error }) }, 'failed');
    expect(text()).not.toContain('hunter2');
    expect(JSON.parse(text()).err).toMatchObject({
      message: 'outer',
      stack: expect.any(String),
      cause: { type: 'SequelizeDatabaseError', cause: { message: 'duplicate key', code: '23505' } },
    });
  });

  it('ends at causes that go round in circles', () => {
    const error: Error & { cause?: unknown } = new Error('round');
    error.cause = error;
    const { logger, text } = capture('json');
    logger.error({ err: error }, 'failed');
    expect(JSON.parse(text()).err.message).toBe('round');
  });

  it('hides fields that hold credentials', () => {
    const { logger, text } = capture('json');
    logger.info(
      { token: 'hunter2', headers: { authorization: 'hunter2' }, client: { secret: 'hunter2' } },
      'x',
    );
    expect(text()).not.toContain('hunter2');
  });
});
