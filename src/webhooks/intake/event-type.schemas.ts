// The schemas of the catalogue of event types in answers.
import { z } from 'zod';
import { bodySchemaOf, CATEGORIES, dataSchemaOf, type EventType, exampleOf } from '../../events/catalogue.ts';
import { present } from '../../platform/http/present.ts';

export const eventTypeParams = z.object({ type: z.string() });

export const eventTypeQuery = z.object({
  category: z.enum(CATEGORIES).optional(),
  reserved: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: '`true`: those that only the service emits; `false`: those to publish.' }),
});

const schema = z.record(z.string(), z.unknown());

export const eventTypeSchema = z
  .strictObject({
    type: z.string(),
    category: z.string(),
    description: z.string(),
    reserved: z.boolean().describe('Emitted by the service itself, and refused from publishers.'),
    schema: schema.describe("JSON Schema (2020-12) of a delivery's body."),
    data_schema: schema.describe(
      'JSON Schema (2020-12) of its `data`: exact for a reserved type, a suggestion that nobody is held to for another.',
    ),
    example: schema.describe("A delivery's body."),
  })
  .meta({ id: 'EventType' });

export const eventTypeList = z
  .strictObject({ data: z.array(eventTypeSchema), next_cursor: z.null() })
  .meta({ id: 'EventTypeList' });

export const asyncApiSchema = z.looseObject({ asyncapi: z.string() }).meta({ id: 'AsyncApi' });

export function presentEventType(entry: EventType) {
  return present(eventTypeSchema, entry, {
    schema: bodySchemaOf(entry),
    data_schema: dataSchemaOf(entry),
    example: exampleOf(entry),
  });
}
