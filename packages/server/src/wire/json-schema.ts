/** Builders of JSON schemas, from which TypeScript infers types. They are small, since every process of a server loads them. */

declare const admitted: unique symbol
// Symbols are ignored by JSON and validators.
const isOptional: unique symbol = Symbol('optional')
const original: unique symbol = Symbol('original')

/** A JSON schema; `T` is the type of valid values. */
export interface Schema<T = unknown> {
  readonly [keyword: string]: unknown
  readonly [admitted]?: T
  /** The schema of which this is a copy with different keywords, or for which this is a recursive placeholder. */
  readonly [original]?: () => Schema
}

export interface OptionalSchema<T> extends Schema<T> {
  readonly [isOptional]: true
}

export type Static<S> = S extends Schema<infer T> ? T : never

type Properties = Readonly<Record<string, Schema>>
type OptionalNames<P> = { [K in keyof P]: P[K] extends OptionalSchema<unknown> ? K : never }[keyof P]
type Flat<T> = { [K in keyof T]: T[K] }
type Admitted<P> = Flat<
  { readonly [K in Exclude<keyof P, OptionalNames<P>>]: Static<P[K]> } & {
    readonly [K in OptionalNames<P>]?: Static<P[K]>
  }
>

export interface ObjectSchema<P> extends Schema<Admitted<P>> {
  readonly properties: P
}

/** Further keywords, such as `description` or `pattern`. */
type Keywords = Readonly<Record<string, unknown>>

const of =
  <T>(type: string) =>
  (keywords: Keywords = {}): Schema<T> => ({ type, ...keywords })

export const Type = {
  String: of<string>('string'),
  Integer: of<number>('integer'),
  Number: of<number>('number'),
  Boolean: of<boolean>('boolean'),
  Null: of<null>('null'),
  Unknown: (keywords: Keywords = {}): Schema => ({ ...keywords }),
  Literal: <const T extends string>(text: T, keywords: Keywords = {}): Schema<T> => ({
    type: 'string',
    const: text,
    ...keywords,
  }),
  Enum: <const T extends string>(words: readonly T[], keywords: Keywords = {}): Schema<T> => ({
    type: 'string',
    enum: words,
    ...keywords,
  }),
  Array: <S extends Schema>(items: S, keywords: Keywords = {}): Schema<readonly Static<S>[]> => ({
    type: 'array',
    items,
    ...keywords,
  }),
  Union: <const S extends readonly Schema[]>(schemas: S, keywords: Keywords = {}): Schema<Static<S[number]>> => ({
    anyOf: schemas,
    ...keywords,
  }),
  /** An object with arbitrary names and values of one schema. */
  Record: <S extends Schema>(values: S, keywords: Keywords = {}): Schema<Readonly<Record<string, Static<S>>>> => ({
    type: 'object',
    patternProperties: { '^.*$': values },
    ...keywords,
  }),
  Object: <const P extends Properties>(properties: P, keywords: Keywords = {}): ObjectSchema<P> => {
    const required = Object.keys(properties).filter((name) => !(isOptional in (properties[name] as Schema)))
    return { type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...keywords }
  },
  Optional: <T>(schema: Schema<T>): OptionalSchema<T> => ({
    ...schema,
    [isOptional]: true,
    [original]: () => originalOf(schema),
  }),
  /** A copy of the schema with a description of its use. */
  Described: <S extends Schema>(schema: S, description: string): S => ({
    ...schema,
    description,
    [original]: () => originalOf(schema),
  }),
  /** A recursive reference to a schema; validators accept any object there. */
  Deferred: (schema: () => Schema): Schema<Readonly<Record<string, unknown>>> => ({
    type: 'object',
    [original]: schema,
  }),
}

/** Returns the original of a schema made by Optional, Described or Deferred, otherwise the schema itself. */
export function originalOf(schema: Schema): Schema {
  return schema[original]?.() ?? schema
}
