/** Schemas of the properties of attributes and classes in schema requests (contract 10.1, 10.2). */
import { type OptionalSchema, type Schema, type Static, Type } from './json-schema.ts'

// Fields that only clients of the original send are `deprecated`: the types of the client leave them out.
export const quotedBoolean = Type.Union([
  Type.Boolean(),
  Type.Literal('true', { deprecated: true }),
  Type.Literal('false', { deprecated: true }),
])
export const quotedInteger = Type.Union([Type.Integer(), Type.String({ pattern: '^\\d+$' })])

/** Constraints, defaults and texts; null in a request removes one. A test compares them with the properties that the engine knows. */
export const propertyFields = {
  isRequired: Type.Optional(Type.Described(quotedBoolean, 'The value is never null.')),
  default: Type.Optional(
    Type.Unknown({
      description: 'What a creation that leaves the attribute out gets: a value, or an object with an `expression`.',
    }),
  ),
  onUpdate: Type.Optional(
    Type.Object(
      { expression: Type.String() },
      { description: 'What the attribute gets with each change of its object that leaves it as it is.' },
    ),
  ),
  enumeration: Type.Optional(
    Type.Array(Type.Unknown(), { description: 'The values that are allowed, or objects of `value` and `label`.' }),
  ),
  minimum: Type.Optional(Type.Unknown()),
  maximum: Type.Optional(Type.Unknown()),
  exclusiveMinimum: Type.Optional(Type.Unknown()),
  exclusiveMaximum: Type.Optional(Type.Unknown()),
  minLength: Type.Optional(quotedInteger),
  maxLength: Type.Optional(quotedInteger),
  pattern: Type.Optional(Type.String({ description: 'A regular expression (RE2) that is found in the value.' })),
  minItems: Type.Optional(quotedInteger),
  maxItems: Type.Optional(quotedInteger),
  uniqueItems: Type.Optional(quotedBoolean),
  isUnique: Type.Optional(Type.Described(quotedBoolean, 'No two objects have the value; a unique index keeps it.')),
  isReadOnly: Type.Optional(Type.Described(quotedBoolean, 'The value given at creation is never changed.')),
  onTargetDelete: Type.Optional(
    Type.String({
      description: 'When the object that is referred to is deleted: `keep`, `clear`, `restrict` or `delete`.',
    }),
  ),
  onSourceDelete: Type.Optional(
    Type.String({
      description: 'When this object is deleted, those it refers to: `keep`, `delete` or `deleteUnreferenced`.',
    }),
  ),
  computed: Type.Optional(
    Type.Object(
      { expression: Type.String(), isStored: Type.Optional(quotedBoolean) },
      { description: 'What the attribute stands for.' },
    ),
  ),
  title: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  annotations: Type.Optional(Type.Record(Type.String())),
}

type Nullable<P extends Readonly<Record<string, Schema>>> = {
  readonly [K in keyof P]: OptionalSchema<Static<P[K]> | null>
}

/** Fields of a change: null removes one. */
export function nullable<P extends Readonly<Record<string, Schema>>>(fields: P): Nullable<P> {
  const entries = Object.entries(fields).map(([name, { description, ...schema }]) => {
    const isAny = Object.keys(schema).length === 0
    const keywords = description === undefined ? {} : { description }
    return [name, Type.Optional(isAny ? Type.Unknown(keywords) : Type.Union([schema, Type.Null()], keywords))]
  })
  return Object.fromEntries(entries) as Nullable<P>
}

export const isValidated = Type.Optional(
  Type.Boolean({ description: 'false: objects that are older may violate it. Ignored in requests.' }),
)

export const classPropertySchemas = {
  isAbstract: Type.Optional(Type.Described(quotedBoolean, 'All objects are of subclasses.')),
  checks: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.String(),
        expression: Type.String(),
        message: Type.Optional(Type.String()),
        isValidated,
      }),
      { description: 'Expressions of DO over the objects of the class, of which none may be false.' },
    ),
  ),
  displayAttribute: Type.Optional(Type.String({ description: 'The attribute that shows an object to people.' })),
  title: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  annotations: Type.Optional(Type.Record(Type.String())),
}
