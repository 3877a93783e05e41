/** Builders of JSON schemas, from which the compiler knows what they admit. Every process of a server loads them: they are small. */

declare const admitted: unique symbol
const isOptional: unique symbol = Symbol('optional')

/** A JSON schema; `T` is what it admits. */
export interface Schema<T = unknown> {
  readonly [keyword: string]: unknown
  readonly [admitted]?: T
}

/** Of a property that may be missing. The mark is a symbol: neither JSON nor validators see it. */
export interface OptionalSchema<T> extends Schema<T> {
  readonly [isOptional]: true
}

export type Static<S> = S extends Schema<infer T> ? T : never

type Properties = Readonly<Record<string, Schema>>
type OptionalNames<P> = { [K in keyof P]: P[K] extends OptionalSchema<unknown> ? K : never }[keyof P]
type Flat<T> = { [K in keyof T]: T[K] }
type Admitted<P> = Flat<
  { [K in Exclude<keyof P, OptionalNames<P>>]: Static<P[K]> } & { [K in OptionalNames<P>]?: Static<P[K]> }
>

export interface ObjectSchema<P> extends Schema<Admitted<P>> {
  readonly properties: P
}

/** Further keywords, as `description` or `pattern`; they follow in the schema. */
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
  Literal: <const T extends string>(text: T): Schema<T> => ({ type: 'string', const: text }),
  Array: <S extends Schema>(items: S, keywords: Keywords = {}): Schema<Static<S>[]> => ({
    type: 'array',
    items,
    ...keywords,
  }),
  Union: <const S extends readonly Schema[]>(schemas: S, keywords: Keywords = {}): Schema<Static<S[number]>> => ({
    anyOf: schemas,
    ...keywords,
  }),
  /** Any names, values of one kind. */
  Record: <S extends Schema>(values: S, keywords: Keywords = {}): Schema<Record<string, Static<S>>> => ({
    type: 'object',
    patternProperties: { '^.*$': values },
    ...keywords,
  }),
  Object: <const P extends Properties>(properties: P, keywords: Keywords = {}): ObjectSchema<P> => {
    const required = Object.keys(properties).filter((name) => !(isOptional in (properties[name] as Schema)))
    return { type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...keywords }
  },
  Optional: <T>(schema: Schema<T>): OptionalSchema<T> => ({ ...schema, [isOptional]: true }),
}
