/** The typed interface: what a schema of `ashlar types` says of classes and attributes holds for every call, and for what it returns. */
import type { ChangeRecord } from '../change-types.ts'
import type { DataClient } from '../data-client.ts'
import type { CallOptions, ChangesOptions, ClientOptions, MatchOptions, TransactionOptions } from '../options.ts'
import type { Connection } from './connection.ts'
import type {
  AllAttributes,
  ChangedValues,
  Created,
  Found,
  FullRow,
  Id,
  InferredAfter,
  Link,
  LinkedValues,
  LinksOf,
  NameOf,
  NewValues,
  Only,
  OrderBy,
  reads,
  TargetOf,
  Where,
} from './schema-types.ts'

declare const result: unique symbol

/** A part of a batch, whose result `batch` returns. */
export interface BatchStep<R> {
  readonly [result]: R
}

export type ClassName<S> = keyof S & string
type Attribute<T> = Exclude<keyof T & string, '$id'>

/** An abstract class has no objects of its own. */
export type Concrete<S, C extends keyof S> = C & NameOf<S[C]>

/** Written as one interface, since each that is extended costs the type checker. */
export interface FindOptions<T, Sel> extends CallOptions {
  /** What to read of each object; by default everything but computed attributes. */
  readonly select?: Sel & Only<T, Sel>
  readonly where?: InferredAfter<Sel, Where<T>> | undefined
  readonly orderBy?: InferredAfter<Sel, OrderBy<T>> | undefined
  /** The number of rows at most. */
  readonly take?: number | undefined
  /** The last row of the page before, or what `orderBy` names of it. Undefined for the first page. */
  readonly after?: { readonly $id: Id<NameOf<T>> } | undefined
}

export type GetOptions<T, Sel> = Pick<FindOptions<T, Sel>, 'select' | keyof CallOptions>
export type WatchOptions<T, Sel> = Omit<FindOptions<T, Sel>, 'after'>

type Result<W, R> = W extends 'step' ? BatchStep<R> : Promise<R>
type Creation<W, Name extends string> = W extends 'step' ? BatchStep<Id<Name>> & Created<Name> : Promise<Id<Name>>

/** What can be done alone (`W` is `now`), and as a part of a batch (`step`). */
export interface Operations<S, W extends 'now' | 'step'> {
  /** Returns the objects of the class and its subclasses that fulfil `where`. */
  find<C extends ClassName<S>, const Sel = AllAttributes<S[C]>>(
    className: C,
    options?: FindOptions<S[C], Sel>,
  ): Result<W, Found<S[C], Sel>[]>

  /** Returns an object, or null if there is none of this class with the OID. */
  get<C extends ClassName<S>, const Sel = AllAttributes<S[C]>>(
    className: C,
    id: Link<S[C]>,
    options?: GetOptions<S[C], Sel>,
  ): Result<W, Found<S[C], Sel> | null>

  /** Counts the objects of the class and its subclasses that fulfil `where`. */
  count<C extends ClassName<S>>(className: C, where?: Where<S[C]>, options?: CallOptions): Result<W, number>

  /** Creates an object, and those of `new` to which it refers, in one transaction. */
  create<C extends ClassName<S>>(
    className: Concrete<S, C>,
    values: NewValues<S[C]>,
    options?: CallOptions,
  ): Creation<W, C>

  /** Creates all of the objects, or none. */
  createMany<C extends ClassName<S>>(
    className: Concrete<S, C>,
    values: readonly NewValues<S[C]>[],
    options?: CallOptions,
  ): Result<W, Id<C>[]>

  /** Creates an object, or updates the one with the same `key`: the attributes of a unique index. */
  upsert<C extends ClassName<S>>(
    className: Concrete<S, C>,
    key: readonly Attribute<S[C]>[],
    values: NewValues<S[C]>,
    options?: CallOptions,
  ): Result<W, Id<C>>

  /** Changes the given attributes; with `ifMatch`, only if the object still has this entity tag. */
  update<C extends ClassName<S>>(
    className: C,
    id: Link<S[C]>,
    values: ChangedValues<S[C]>,
    options?: MatchOptions,
  ): Result<W, void>

  /** Deletes an object; with `ifMatch`, only if the object still has this entity tag. */
  delete<C extends ClassName<S>>(className: C, id: Link<S[C]>, options?: MatchOptions): Result<W, void>

  /** Adds objects to a list or set of references. */
  link<C extends ClassName<S>, A extends LinksOf<S[C]>>(
    className: C,
    id: Link<S[C]>,
    attribute: A,
    targets: Link<TargetOf<S[C][A]>> | readonly Link<TargetOf<S[C][A]>>[],
    options?: CallOptions,
  ): Result<W, void>

  /** Removes objects from a list or set of references. */
  unlink<C extends ClassName<S>, A extends LinksOf<S[C]>>(
    className: C,
    id: Link<S[C]>,
    attribute: A,
    targets: Link<TargetOf<S[C][A]>> | readonly Link<TargetOf<S[C][A]>>[],
    options?: CallOptions,
  ): Result<W, void>

  /** Describes an object that is created with the one that is given it as the value of a reference. */
  readonly new: <C extends ClassName<S>>(className: Concrete<S, C>, values: LinkedValues<S[C]>) => Created<C>
}

/** Collects the steps of a batch, which runs them in this order. A step that creates an object stands for it in later ones. */
export interface Batch<S> extends Operations<S, 'step'> {}

/** A change of an object or link of a class; see `ChangeRecord`. */
export interface TypedChange<T> extends Omit<ChangeRecord, 'class' | 'oid' | 'before' | 'after' | 'attributes'> {
  readonly class?: NameOf<T>
  readonly oid?: Id<NameOf<T>>
  readonly before?: Partial<FullRow<T>>
  readonly after?: Partial<FullRow<T>>
  readonly attributes?: readonly Attribute<T>[]
}

export interface Database<S, C extends Connection = DataClient> extends Operations<S, 'now'> {
  /** The client that sends the requests. */
  readonly client: C

  /** Yields page after page of `take` objects, until there are no more. Each page is a request of its own. */
  pages<N extends ClassName<S>, const Sel = AllAttributes<S[N]>>(
    className: N,
    options: FindOptions<S[N], Sel> & { readonly orderBy: OrderBy<S[N]>; readonly take: number },
  ): AsyncGenerator<Found<S[N], Sel>[], void>

  /** Yields the current rows, and again after each change of them, without an end (live query). */
  watch<N extends ClassName<S>, const Sel = AllAttributes<S[N]>>(
    className: N,
    options?: WatchOptions<S[N], Sel>,
  ): AsyncGenerator<readonly Found<S[N], Sel>[], void>

  /** Yields each change of objects of the class and its subclasses, without an end; see `AshlarClient.followChanges`. */
  changes<N extends ClassName<S>>(
    className: N,
    options?: Omit<ChangesOptions, 'className' | 'where' | 'attributes'> & {
      readonly attributes?: readonly Attribute<S[N]>[]
    },
    onPosition?: (position: string) => void,
  ): AsyncGenerator<TypedChange<S[N]>, void>

  /** Runs the steps as one transaction, all of them or none, and returns the results of those that `build` returns. */
  batch<const R extends readonly BatchStep<unknown>[]>(
    build: (batch: Batch<S>) => R,
    options?: TransactionOptions,
  ): Promise<{ -readonly [K in keyof R]: R[K] extends BatchStep<infer V> ? V : never }>

  /** Runs statements of DO, and returns the rows of the last one. The values of the template are parameters, and never become text. */
  query<R = Record<string, unknown>>(texts: TemplateStringsArray, ...values: unknown[]): Promise<R[]>
}

/** The options that the types of the schema are written for have to be given. */
export type ConnectOptions<S> = Omit<ClientOptions, 'baseUrl' | 'dates' | 'integers'> &
  (S extends { readonly [reads]: infer Reads } ? Reads : unknown)
