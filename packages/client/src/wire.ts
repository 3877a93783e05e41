/** What goes over the wire: the bodies of requests and replies (the interface, section 2). */
import type { ErrorType } from './error-types.ts'

/** `<database>-<container>-<page>-<slot>`; `0-0-0-0` refers to nothing. */
export type OidText = string

export interface AttributeDefinition {
  readonly attributeName: string
  readonly logicalType: string
  readonly encoding?: string
  readonly storage?: string
  readonly fixedLength?: number | string
  readonly referencedClass?: string
  readonly inverseAttribute?: string
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

export interface NamespaceEntry {
  readonly name: string | null
}

export interface NamespaceRepresentation {
  readonly name: string | null
  readonly classes: ClassRepresentation[]
}

export type Attributes = Readonly<Record<string, unknown>>

export interface ObjectCreated {
  readonly __identifier__: OidText
  readonly uri: string
}

export interface ObjectRepresentation {
  readonly __class__: string
  readonly __identifier__: OidText
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
  readonly state: 'building' | 'ready'
  readonly entryCount: number
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
  readonly limits: Readonly<Record<string, number>>
  readonly counts: Readonly<Record<string, number>>
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
  /** Of a query: what could have stood there. */
  readonly expected?: readonly string[]
}
