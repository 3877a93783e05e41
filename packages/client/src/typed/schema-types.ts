/** The vocabulary of the declarations that `ashlar types` writes, and the types that follow from them: rows, filters, and values to write. */

declare const brand: unique symbol
declare const created: unique symbol
declare const allAttributes: unique symbol
declare const unseen: unique symbol
/** The property of a class that says what is known of it beside its attributes, none of which can have this name. */
export declare const is: unique symbol
/** The property of a schema that says with which options of the client values are read. */
export declare const reads: unique symbol

/** The OID of an object of one of these classes: of a class and its subclasses, without abstract ones. To make one of a text, write `text as Oid<'Task'>`. */
export type Id<Name extends string = string> = string & { readonly [brand]: Name }

/** An object that is created together with the one that refers to it. */
export interface Created<Name extends string> {
  readonly [created]: Name
}

/** `Required`: what a creation has to give. `Computed`: what is only read. `ReadOnly`: what only a creation gives. */
export interface Fields<
  Required extends string = never,
  Computed extends string = never,
  ReadOnly extends string = never,
> {
  readonly required: { readonly [K in Required]: true }
  readonly computed: { readonly [K in Computed]: true }
  readonly readOnly: { readonly [K in ReadOnly]: true }
}

/** Any object that has an OID. */
export interface Entity {
  $id: Id
}

/** An attribute that leads to other objects. Types that follow from one are looked up by `$as`, which costs the type checker less than conditions. */
interface Structured<As extends keyof Forms = keyof Forms, T = unknown, Inverse = unknown> {
  readonly $as: As
  readonly $to: T
  readonly $inverse: Inverse
}

/** A reference to an object. */
export interface One<T, Inverse = never> extends Structured<'one', T, Inverse> {}
/** A list or set of references. */
export interface Many<T, Inverse = never> extends Structured<'many', T, Inverse> {}
/** A map of references. */
export interface Keyed<T> extends Structured<'keyed', T, never> {}
/** An embedded object. */
export interface Part<T> extends Structured<'part', T, never> {}
/** A list of embedded objects. */
export interface Parts<T> extends Structured<'parts', T, never> {}

/** Digits with a decimal point, such as `'12.50'`. */
export type Decimal = string
/** Base64. */
export type Bytes = string
/** Any value that JSON has. */
export type Json = unknown

export type NameOf<T> = T extends { readonly $id: Id<infer N> } ? N : never
type IdOf<T> = T extends { readonly $id: infer I } ? I : never
type Attribute<T> = keyof T & string
type RequiredOf<T> = T extends { readonly [is]: { readonly required: infer R } } ? keyof R : never
type ComputedOf<T> = T extends { readonly [is]: { readonly computed: infer C } } ? keyof C : never
type ReadOnlyOf<T> = T extends { readonly [is]: { readonly readOnly: infer R } } ? keyof R : never

/** What becomes of a value in each kind of attribute. */
interface Forms<V = unknown> {
  one: V
  many: V[]
  keyed: Record<string, V>
  part: V
  parts: V[]
}

/** What is read of an attribute as a whole. */
type Value<V> = V extends Structured ? Forms<Target<V>>[V['$as']] : V
type Target<V extends Structured> = V['$as'] extends 'part' | 'parts' ? Values<V['$to']> : IdOf<V['$to']>

/** Computed attributes have to be selected by name. */
type Values<T> = { [K in Exclude<Attribute<T>, ComputedOf<T>>]: Value<T[K]> }

/** A row without `select`. */
export type FullRow<T> = Values<T> & { $class: NameOf<T> }

/** A row that `find` returns. */
export type Found<T, S> = typeof allAttributes extends keyof S
  ? FullRow<T>
  : { -readonly [K in keyof S]: Cell<T[K & keyof T], S[K]> } & { $id: T['$id' & keyof T] }

/** What was selected of an object that a row leads to. */
type Row<T, S> = { -readonly [K in keyof S as K extends Clause ? never : K]: Cell<T[K & keyof T], S[K]> }
type Clause = '$where' | '$orderBy' | '$take'

type Cell<V, S> = S extends true ? Value<V> : V extends Structured ? Forms<Row<V['$to'], S>>[V['$as']] : V

/** What can be selected of an object. */
export type Select<T> = { readonly [K in Attribute<T>]?: Selection<T[K]> }
type Selection<V> = V extends Structured ? Selections<V['$to']>[V['$as']] : true

interface Selections<T> {
  one: true | Select<T>
  many: true | (Select<T> & Elements<T>)
  keyed: true | Select<T>
  part: true | Select<T>
  parts: true | (Select<T> & Elements<T>)
}

/** What is selected by default. */
export type AllAttributes<T> = Select<T> & { readonly [allAttributes]?: never }

/**
 * `X`, once `S` is inferred. Before, the type checker would compare each attribute that is given with `X` of all classes that the argument may be of.
 */
export type InferredAfter<S, X> = typeof unseen extends keyof S ? unknown : X

/** Which elements of a collection are read, and in which order. */
interface Elements<T> {
  readonly $where?: Where<T>
  readonly $orderBy?: OrderBy<T>
  readonly $take?: number
}

/**
 * Refuses what `S` selects beyond `Select<T>`. It is written as a check, and `S` has no constraint: in the type of an argument from which `S` is inferred, a
 * constraint costs the type checker several times as much, and lets excess attributes pass.
 */
export type Only<T, S> = typeof allAttributes extends keyof S ? unknown : OnlyOf<T, S>
type OnlyOf<T, S> = {
  readonly [K in keyof S]: K extends keyof T
    ? S[K] extends true
      ? unknown
      : OnlyIn<T[K], S[K]>
    : K extends '$where'
      ? Where<T> & OnlyKeys<T, S[K]>
      : K extends keyof Elements<T>
        ? Elements<T>[K]
        : NoAttribute<T, K>
}
type OnlyIn<V, S> = V extends Structured
  ? S extends object
    ? OnlyOf<V['$to'], S>
    : true
  : V extends null
    ? never
    : true
type OnlyKeys<T, W> = {
  readonly [K in keyof W]: K extends keyof T
    ? W[K] extends Filter<T[K]>
      ? unknown
      : WrongValue<T, K>
    : K extends keyof Conditions<T>
      ? unknown
      : NoAttribute<T, K>
}

/** The message of a refusal: the class has no such attribute. */
interface NoAttribute<Class, Name> {
  readonly $refused: [Class, Name]
}

/** The message of a refusal: the attribute has no such values. */
interface WrongValue<Class, Name> {
  readonly $refused: [Class, Name]
}

export type Where<T> = { readonly [K in Attribute<T>]?: Filter<T[K]> } & Conditions<T>

interface Conditions<T> {
  readonly $and?: readonly Where<T>[]
  readonly $or?: readonly Where<T>[]
  readonly $not?: Where<T>
}

type Filter<V> = [V] extends [Structured | null] ? Through<V> : V | Comparison<V & {}>
type Through<V> = V extends Structured ? Filters<V['$to']>[V['$as']] : V

interface Filters<T> {
  one: IdOf<T> | null | Among<IdOf<T>> | Where<T>
  many: Some<T> & { readonly $has?: IdOf<T> }
  keyed: { readonly $empty?: boolean }
  part: Where<T>
  parts: Some<T>
}

interface Among<V> {
  readonly $not?: V | null
  readonly $in?: readonly V[]
}

/** Conditions on the elements of a collection. */
interface Some<T> {
  readonly $any?: Where<T>
  readonly $all?: Where<T>
  readonly $none?: Where<T>
  readonly $empty?: boolean
}

interface Comparison<V> extends Among<V> {
  readonly $lt?: V
  readonly $lte?: V
  readonly $gt?: V
  readonly $gte?: V
  readonly $startsWith?: V & string
  readonly $contains?: V & string
  readonly $like?: V & string
  readonly $ilike?: V & string
  /** Of a list. */
  readonly $has?: V extends readonly (infer E)[] ? E : never
  readonly $empty?: boolean
}

/** By several attributes in the order of the keys. */
export type OrderBy<T> = { readonly [K in Attribute<T>]?: Order<T[K]> }
type Order<V> = V extends Structured ? OrderBy<V['$to']> : 'asc' | 'desc'

/** Values of a new object. */
export type NewValues<T> = NewValuesBut<T, never>

/** A new object that another one refers to may leave its side of the link out. */
export type LinkedValues<T> = NewValuesBut<T, InverseOf<T>>

type NewValuesBut<T, Left> = {
  readonly [K in Exclude<Attribute<T>, '$id' | ComputedOf<T> | RequiredOf<T>>]?: Input<T[K]>
} & {
  readonly [K in Exclude<RequiredOf<T>, Left> & keyof T]: Input<Exclude<T[K], null>>
} & { readonly [K in RequiredOf<T> & Left & keyof T]?: Input<Exclude<T[K], null>> }

/** Required references that the other side of their link sets. */
type InverseOf<T> = {
  [K in RequiredOf<T> & keyof T]: T[K] extends One<unknown, infer I> | null ? ([I] extends [never] ? never : K) : never
}[RequiredOf<T> & keyof T]

/** Values to change. Null only where the attribute may be null. */
export type ChangedValues<T> = {
  readonly [K in Exclude<Attribute<T>, '$id' | ComputedOf<T> | ReadOnlyOf<T>>]?: K extends RequiredOf<T>
    ? Change<Exclude<T[K], null>>
    : Change<T[K]>
}

/** What is not given of an embedded object stays as it is. */
type Change<V> = V extends Part<infer T> ? ChangedValues<T> : Input<V>

/** An object that a reference can be set to. */
export type Link<T> = IdOf<T> | Created<NameOf<T>>

/** Attributes that are lists or sets of references. */
export type LinksOf<T> = { [K in Attribute<T>]: T[K] extends Many<unknown, unknown> ? K : never }[Attribute<T>]
export type TargetOf<V> = V extends Many<infer T, unknown> ? T : never

type Input<V> = V extends Structured ? Inputs<V['$to']>[V['$as']] : V extends readonly (infer E)[] ? readonly E[] : V

interface Inputs<T> {
  one: Link<T>
  many: readonly Link<T>[]
  keyed: Readonly<Record<string, Link<T>>>
  part: NewValues<T>
  parts: readonly NewValues<T>[]
}
