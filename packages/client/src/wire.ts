/** What goes over the wire: the bodies of requests and replies (the interface, section 2). */
import type { ErrorType } from './error-types.ts'

/** `<database>-<container>-<page>-<slot>`; `0-0-0-0` refers to nothing. */
export type Oid = string

export interface AttributeDefinition {
  readonly attributeName: string
  readonly logicalType: string
  readonly encoding?: string
  readonly storage?: string
  readonly fixedLength?: number | string
  readonly referencedClass?: string
  readonly inverseAttribute?: string
  readonly edgeClass?: string
  readonly edgeAttribute?: string
  readonly class?: string
  readonly collectionTypeName?: string
  readonly elementSpecification?: Omit<AttributeDefinition, 'attributeName'>
  readonly keySpecification?: Omit<AttributeDefinition, 'attributeName'>
}

export interface ClassDescription {
  readonly className?: string
  readonly classNumber?: string | number
  readonly isReferenceable?: boolean
  readonly superClass?: string | null | { readonly className: string }
  readonly attributes: readonly AttributeDefinition[]
}

export interface ClassesDefined {
  readonly classNumbers: string[]
  readonly uris: string[]
}

export interface ClassRepresentation {
  readonly className: string
  readonly classNumber: string
  readonly shapeNumber: string
  readonly isReferenceable: boolean
  readonly isInternal: boolean
  readonly isDeleted: boolean
  readonly superClass: string | null
  readonly attributes: AttributeDefinition[]
}

/** Either `classRename`, or any of the others, which are applied in this order. */
export interface ClassAlteration {
  readonly classRename?: string
  readonly attributesToDelete?: readonly string[]
  readonly attributesToRename?: readonly { readonly originalName: string; readonly newName: string }[]
  readonly attributesToChange?: readonly AttributeDefinition[]
  readonly attributesToAdd?: readonly AttributeDefinition[]
}

export interface AlterationOptions {
  /** Indexes on a deleted attribute, and the other side of its links, are deleted with it. */
  readonly cascade?: boolean
  /** Stored values that do not fit a changed type become the default. */
  readonly allowLoss?: boolean
}

export interface ValuesLost {
  readonly className: string
  readonly attributeName: string
  readonly values: number
}

/** What a change of the schema would do. */
export interface SchemaReport {
  readonly classes: {
    readonly className: string
    readonly change: 'add' | 'change' | 'rename' | 'delete'
    readonly newName?: string
    readonly attributesAdded: string[]
    readonly attributesDeleted: string[]
    readonly attributesRenamed: { readonly originalName: string; readonly newName: string }[]
    readonly attributesChanged: { readonly attributeName: string; readonly from: object; readonly to: object }[]
  }[]
  readonly indexesDropped: string[]
  readonly indexesRebuilt: string[]
  /** Objects whose shape would change. */
  readonly objects: number
  readonly valuesLost: ValuesLost[]
}

/** One operation of a transaction. */
export interface TransactionOperation {
  readonly method: string
  /** `"${id}"` in it stands for an OID. */
  readonly uri: string
  readonly body?: unknown
  /** `dispose`: carried out with the others and answered, but not kept; the others are answered by what is committed. */
  readonly result?: 'keep' | 'dispose'
  /** A name for the object that the operation creates. */
  readonly id?: string
  /** Of an operation on an object: the ETags that it may have, or `*`; it keeps it until the commit. Else the transaction fails: PreconditionFailed. */
  readonly ifMatch?: string
  /** Those that it must not have; a read of one that it has is answered by 304. */
  readonly ifNoneMatch?: string
}

export interface TransactionResult {
  readonly responseCode: string
  readonly result: unknown
}

export interface NamespaceEntry {
  readonly name: string | null
}

export interface NamespaceRepresentation {
  readonly name: string | null
  readonly classes: ClassRepresentation[]
}

export type Attributes = Readonly<Record<string, unknown>>

export interface ObjectCreated {
  readonly __identifier__: Oid
  readonly uri: string
}

export interface ObjectRepresentation {
  readonly __class__: string
  readonly __identifier__: Oid
  readonly [attribute: string]: unknown
}

export interface KeyAttribute {
  readonly attributeName: string
  readonly properties?: { readonly maxStoredStringLength?: number | string }
}

export interface IndexRequest {
  readonly name: string
  readonly indexedClass: string
  readonly isUnique: boolean
  readonly keyAttributes: readonly KeyAttribute[]
}

export interface IndexCreated {
  readonly name: string
  readonly uri: string
}

export interface IndexRecord extends IndexCreated {
  readonly indexedClass: string
  readonly isUnique: boolean
  readonly keyAttributes: KeyAttribute[]
  readonly state: 'building' | 'ready' | 'failed'
  readonly entryCount: number
  /** Of a background build. */
  readonly progress?: { readonly objectsDone: number; readonly objectsTotal: number }
  /** Of a background build that failed. */
  readonly failure?: { readonly type: string; readonly message: string }
}

export interface ToolReply {
  /** 0 where all is well. */
  readonly returnCode: number
  readonly toolOutput: string
  readonly toolError: string
}

/** A statement under way. */
export interface StatementRecord {
  readonly id: string
  readonly kind: 'query' | 'transaction' | 'tool'
  /** The first 1,000 characters; of a transaction how many operations it has. */
  readonly text: string
  readonly fdAlias: string
  readonly clientAddress: string
  readonly startedAt: string
  /** It waits for a turn or a place, works, or sends its rows. */
  readonly state: 'queued' | 'running' | 'sending'
  /** Of rows, before compression. */
  readonly bytesSent: number
  /** Of a query: rows of its reply that were made so far. */
  readonly rows?: number
  /** Of a query: what it is charged with in memory at the moment. */
  readonly bytesHeld?: number
}

export interface ToolRecord {
  readonly name: string
  readonly description: string
  readonly flags: {
    readonly name: string
    readonly type: 'text' | 'boolean' | 'number'
    readonly description: string
    readonly isRequired: boolean
  }[]
  /** Those under way, and the last that ended. */
  readonly runs: ({
    readonly tool: string
    readonly fdAlias: string
    readonly startedAt: string
    readonly state: 'running' | 'ended'
    readonly done: number
    readonly total?: number
  } & Partial<ToolReply>)[]
}

export interface ServiceRoot {
  /** Milliseconds since the server started. */
  readonly uptime: number
  readonly versions: string[]
}

export interface ResourceList {
  readonly version: string
  readonly resources: { readonly uri: string; readonly supportedMethods: string[] }[]
}

export interface FederatedDatabaseRecord {
  readonly bootfile: string
  readonly alias: string
  readonly store: { readonly kind: string; readonly isDurable: boolean }
  /** Of queries that ask for none. */
  readonly dialect: Dialect
  readonly limits: Readonly<Record<string, number>>
  readonly counts: Readonly<Record<string, number>>
  /** Age of the oldest snapshot that is held, and replies broken off because their readers took nothing or held a snapshot for too long. */
  readonly readers: { readonly oldestSnapshotMs: number; readonly repliesBrokenOff: number }
  /** On PostgreSQL and Citus, where there are any: prepared transactions that hold locks on the tables. `oldestMs`: age of the oldest. */
  readonly unresolvedTransactions?: { readonly count: number; readonly oldestMs: number }
}

/**
 * How queries are understood and answered. `objectivity`, as by the original: MATCH without a mode is WALK, and rows of projections
 * begin with `"__class__": "_Projection"`.
 */
export type Dialect = 'ashlar' | 'objectivity'

export interface QueryOptions {
  /** That of the federated database where it is left out. */
  readonly dialect?: Dialect
}

/** Values of `$name` in a query, by name. */
export type QueryParameters = Readonly<Record<string, unknown>>

/** The body of every error. */
export interface Problem {
  readonly type: ErrorType
  readonly title: string
  readonly status: number
  readonly message: string
  readonly errors?: readonly { readonly pointer: string; readonly message: string }[]
  /** Of a query: where in its text the fault is, from 1. */
  readonly line?: number
  readonly column?: number
  /** Of a query: the piece of text at fault. */
  readonly text?: string
  /** Of a transaction: which operation failed, from 1. */
  readonly operation?: number
  /** Of a change of types: what would be lost. */
  readonly valuesLost?: readonly ValuesLost[]
  /** Of a query: what could have stood there. */
  readonly expected?: readonly string[]
}
