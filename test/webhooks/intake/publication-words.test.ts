// What a refused event is told: the form of a type comes with an example.
import { expect, it } from 'vitest';
import { checkPublication } from '../../../src/webhooks/intake/publication.ts';

it.each(['placed', 'Orders.order-placed', 'orders..placed'])(
  'the type %s is refused with an example',
  (type) => {
    expect(() => checkPublication({ type, data: {} }, 'body')).toThrow(/such as orders\.order\.placed/);
  },
);
