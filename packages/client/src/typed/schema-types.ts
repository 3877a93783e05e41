/** The vocabulary of the declarations that `ashlar types` writes, and the types that follow from them: rows, filters, and values to write. */

declare const brand: unique symbol
declare const created: unique symbol
/** The property of a class that says what is known of it beside its attributes, none of which can have this name. */
export declare const is: unique symbol
/** The property of a schema that says with which options of the client values are read. */
export declare const reads: unique symbol

/** The OID of an object of one of these classes. To make one of a text, write `text as Oid<'Task'>`. */
export type Id<Name extends string = string> = string & { readonly [brand]: Name }

/** An object that is created together with the one that refers to it. */
export interface Created<Name extends string> {
  readonly [created]: Name
}

/** `Required`: what a creation has to give. `Computed`: what is only read. `ReadOnly`: what only a creation gives. */
export interface Embeddable<
  Required extends string = never,
  Computed extends string = never,
  ReadOnly extends string = never,
> {
  readonly required: { readonly [K in Required]: true }
  readonly computed: { readonly [K in Computed]: true }
  readonly readOnly: { readonly [K in ReadOnly]: true }
}

/** `Name`: the class and its subclasses, without abstract ones. */
export interface Class<
  Name extends string,
  Required extends string = never,
  Computed extends string = never,
  ReadOnly extends string = never,
> extends Embeddable<Required, Computed, ReadOnly> {
  readonly name: Name
}

/** A class of objects that have OIDs. */
export interface Entity {
  readonly [is]: Class<string>
}

/** A reference to an object. */
export interface One<T extends Entity, Inverse extends string = never> {
  readonly $one: T
  readonly $inverse: Inverse
}

/** A list or set of references. */
export interface Many<T extends Entity, Inverse extends string = never> {
  readonly $many: T
  readonly $inverse: Inverse
}

/** A map of references. */
export interface Keyed<T extends Entity> {
  readonly $keyed: T
}

/** An embedded object. */
export interface Part<T extends object> {
  readonly $part: T
}

/** A list of embedded objects. */
export interface Parts<T extends object> {
  readonly $parts: T
}

/** Digits with a decimal point, such as `'12.50'`. */
export type Decimal = string
/** Base64. */
export type Bytes = string
/** Any value that JSON has. */
export type Json = unknown

export type NameOf<T> = T extends Entity ? T[typeof is]['name'] : never
type IdOf<T> = Id<NameOf<T>>
type Attribute<T> = keyof T & string
type RequiredOf<T> = T extends { readonly [is]: { readonly required: infer R } } ? keyof R : never
type ComputedOf<T> = T extends { readonly [is]: { readonly computed: infer C } } ? keyof C : never
type ReadOnlyOf<T> = T extends { readonly [is]: { readonly readOnly: infer R } } ? keyof R : never

type Structured = One<Entity, string> | Many<Entity, string> | Keyed<Entity> | Part<object> | Parts<object>

/** What is read of an attribute as a whole. */
type Value<V> = V extends Structured
  ? V extends One<infer T, string>
    ? IdOf<T>
    : V extends Many<infer T, string>
      ? IdOf<T>[]
      : V extends Keyed<infer T>
        ? Record<string, IdOf<T>>
        : V extends Part<infer T>
          ? Values<T>
          : V extends Parts<infer T>
            ? Values<T>[]
            : never
  : V

/** Computed attributes have to be selected by name. */
type Values<T> = { [K in Exclude<Attribute<T>, ComputedOf<T>>]: Value<T[K]> }

/** A row without `select`. */
export type FullRow<T> = Values<T> & { $id: IdOf<T>; $class: NameOf<T> }

/** A row of what was selected. */
export type Row<T, S> = {
  [K in keyof S & (Attribute<T> | '$id')]: K extends Attribute<T> ? Cell<T[K], S[K]> : IdOf<T>
}

type Cell<V, S> = S extends true
  ? Value<V>
  : V extends One<infer T, string>
    ? Row<T, S>
    : V extends Many<infer T, string>
      ? Row<T, S>[]
      : V extends Keyed<infer T>
        ? Record<string, Row<T, S>>
        : V extends Part<infer T>
          ? Row<T, S>
          : V extends Parts<infer T>
            ? Row<T, S>[]
            : V

/** What can be selected of an object. */
export type Select<T> = { readonly [K in Attribute<T>]?: Selection<T[K]> } & (T extends Entity
  ? { readonly $id?: true }
  : unknown)

type Selection<V> =
  | true
  | (V extends One<infer T, string>
      ? Select<T>
      : V extends Many<infer T, string>
        ? Select<T> & Elements<T>
        : V extends Keyed<infer T>
          ? Select<T>
          : V extends Part<infer T>
            ? Select<T>
            : V extends Parts<infer T>
              ? Select<T> & Elements<T>
              : never)

/** Which elements of a collection are read, and in which order. */
interface Elements<T> {
  readonly $where?: Where<T>
  readonly $orderBy?: OrderBy<T>
  readonly $take?: number
}

/** Refuses what `S` selects beyond the attributes of `T`: TypeScript does not look for excess properties where the type of an argument is inferred. */
export type Only<T, S> = {
  readonly [K in keyof S]: K extends Attribute<T>
    ? OnlyIn<T[K], S[K]>
    : K extends '$where'
      ? OnlyKeys<S[K], keyof Where<T>, T>
      : K extends '$orderBy'
        ? OnlyKeys<S[K], keyof OrderBy<T>, T>
        : K extends '$id' | '$take'
          ? unknown
          : NoAttribute<T, K>
}
type OnlyIn<V, S> = S extends true
  ? true
  : V extends One<infer T, string> | Many<infer T, string> | Keyed<infer T>
    ? Only<T, S>
    : V extends Part<infer T> | Parts<infer T>
      ? Only<T, S>
      : unknown
type OnlyKeys<W, Key, T> = { readonly [K in keyof W]: K extends Key ? unknown : NoAttribute<T, K> }

/** The message of a refusal: the class has no such attribute. */
interface NoAttribute<Class, Name> {
  readonly $refused: [Class, Name]
}

export type Where<T> = { readonly [K in Attribute<T>]?: Filter<T[K]> } & Conditions<T>

interface Conditions<T> {
  readonly $id?: IdOf<T> | { readonly $in: readonly IdOf<T>[] }
  readonly $and?: readonly Where<T>[]
  readonly $or?: readonly Where<T>[]
  readonly $not?: Where<T>
}

type Filter<V> = [V] extends [One<infer T, string> | null]
  ? IdOf<T> | null | Among<IdOf<T>> | Where<T>
  : [V] extends [Many<infer T, string>]
    ? Some<T> & { readonly $has?: IdOf<T> }
    : [V] extends [Part<infer T>]
      ? Where<T>
      : [V] extends [Parts<infer T>]
        ? Some<T>
        : [V] extends [Keyed<Entity>]
          ? never
          : [V] extends [readonly (infer E)[]]
            ? { readonly $has?: E; readonly $empty?: boolean }
            : V | Comparison<V & {}>

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
}

/** By several attributes in the order of the keys. */
export type OrderBy<T> = { readonly [K in Attribute<T>]?: Order<T[K]> } & { readonly $id?: 'asc' | 'desc' }
type Order<V> = [V] extends [One<infer T, string> | null]
  ? OrderBy<T>
  : [V] extends [Part<infer T>]
    ? OrderBy<T>
    : 'asc' | 'desc'

/** Values of a new object. */
export type NewValues<T> = NewValuesBut<T, never>

/** A new object that another one refers to may leave its side of the link out. */
export type LinkedValues<T> = NewValuesBut<T, InverseOf<T>>

type NewValuesBut<T, Left> = { readonly [K in Exclude<Attribute<T>, ComputedOf<T> | RequiredOf<T>>]?: Input<T[K]> } & {
  readonly [K in Exclude<RequiredOf<T>, Left> & keyof T]: Input<Exclude<T[K], null>>
} & { readonly [K in RequiredOf<T> & Left & keyof T]?: Input<Exclude<T[K], null>> }

/** Required references that the other side of their link sets. */
type InverseOf<T> = {
  [K in RequiredOf<T> & keyof T]: T[K] extends One<Entity, infer I> | null ? ([I] extends [never] ? never : K) : never
}[RequiredOf<T> & keyof T]

/** Values to change. Null only where the attribute may be null. */
export type ChangedValues<T> = {
  readonly [K in Exclude<Attribute<T>, ComputedOf<T> | ReadOnlyOf<T>>]?: K extends RequiredOf<T>
    ? Change<Exclude<T[K], null>>
    : Change<T[K]>
}

/** What is not given of an embedded object stays as it is. */
type Change<V> = V extends Part<infer T> ? ChangedValues<T> : Input<V>

/** An object that a reference can be set to. */
export type Link<T> = IdOf<T> | Created<NameOf<T>>

/** Attributes that are lists or sets of references. */
export type LinksOf<T> = { [K in Attribute<T>]: T[K] extends Many<Entity, string> ? K : never }[Attribute<T>]
export type TargetOf<V> = V extends Many<infer T, string> ? T : never

type Input<V> = V extends Structured
  ? V extends One<infer T, string>
    ? Link<T>
    : V extends Many<infer T, string>
      ? readonly Link<T>[]
      : V extends Keyed<infer T>
        ? Readonly<Record<string, Link<T>>>
        : V extends Part<infer T>
          ? NewValues<T>
          : V extends Parts<infer T>
            ? readonly NewValues<T>[]
            : never
  : V extends readonly (infer E)[]
    ? readonly E[]
    : V
