/** Type definitions as in commands and schema reads: words and names, with the form of each field. */

/** `defineType` checks which fields belong to the type and which are missing. Null means absent. */
export interface TypeDefinition {
  readonly logicalType?: string
  readonly encoding?: string | null
  readonly storage?: string | null
  readonly fixedLength?: number | bigint | null
  readonly precision?: number | bigint | null
  readonly scale?: number | bigint | null
  readonly referencedClass?: string | null
  readonly inverseAttribute?: string | null
  readonly edgeClass?: string | null
  readonly edgeAttribute?: string | null
  readonly class?: string | null
  readonly collectionTypeName?: string | null
  readonly elementSpecification?: TypeDefinition | null
  readonly keySpecification?: TypeDefinition | null
}

export type TypeField = keyof TypeDefinition
export type WordField = 'encoding' | 'storage' | 'collectionTypeName'
export type CountField = 'fixedLength' | 'precision' | 'scale'
export type NameField = 'referencedClass' | 'inverseAttribute' | 'edgeClass' | 'edgeAttribute' | 'class'
export type NestedField = 'elementSpecification' | 'keySpecification'

/** The form of each field, for messages. */
export const fieldForms = {
  logicalType: 'a word',
  encoding: 'a word',
  storage: 'a word',
  fixedLength: 'a number',
  precision: 'a number',
  scale: 'a number',
  referencedClass: 'a string',
  inverseAttribute: 'a string',
  edgeClass: 'a string',
  edgeAttribute: 'a string',
  class: 'a string',
  collectionTypeName: 'a word',
  elementSpecification: 'an object',
  keySpecification: 'an object',
} as const satisfies Record<TypeField, string>
