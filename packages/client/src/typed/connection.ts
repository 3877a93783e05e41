/** What the typed interface needs of a client. */
import type { ChangeRecord } from '../change-types.ts'
import type { LiveEvent } from '../live-query.ts'
import type { CallOptions, ChangesOptions, FollowOptions, MatchOptions, TransactionOptions } from '../options.ts'
import type {
  Attributes,
  CreateObjectBody,
  ObjectCreated,
  Oid,
  QueryParameters,
  TransactionOperation,
  TransactionResult,
} from '../wire.ts'

type FoundObject = object | undefined

/** Methods of `AshlarClient`, which documents them. Rows belong to the caller, which changes them. */
export interface Connection {
  /** Returns what `get` does without `select`, if that takes no query; otherwise undefined, and a query finds it or says what is wrong. */
  readonly findObject?: (className: string, id: string, options: CallOptions) => FoundObject | Promise<FoundObject>
  query<Row>(text: string, parameters?: QueryParameters, options?: CallOptions): Promise<Row[]>
  followQuery<Row>(text: string, parameters?: QueryParameters, options?: FollowOptions): AsyncGenerator<LiveEvent<Row>>
  followChanges(options?: ChangesOptions, onPosition?: (position: string) => void): AsyncGenerator<ChangeRecord>
  createObject(className: string, attributes: Attributes, options?: CallOptions): Promise<ObjectCreated>
  createObjects(objects: readonly CreateObjectBody[], options?: CallOptions): Promise<readonly ObjectCreated[]>
  updateObject(oid: Oid, attributes: Attributes, options?: MatchOptions): Promise<void>
  deleteObject(oid: Oid, options?: MatchOptions): Promise<void>
  runTransaction(
    operations: readonly TransactionOperation[],
    options?: TransactionOptions,
  ): Promise<readonly TransactionResult[]>
}
