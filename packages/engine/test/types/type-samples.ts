/**
 * Random definitions and values of every logical type, each value with the text it is read back as and its rank among
 * its kind, both found in another way than the engine's. A type without samples does not compile.
 */
import type { LogicalTypeName } from '../../src/types/type-spec.ts'
import { collectionSamples } from './collection-samples.ts'
import type { TypeSamples } from './sample.ts'
import { scalarSamples } from './scalar-samples.ts'

export const typeSamples: Record<LogicalTypeName, TypeSamples> = { ...scalarSamples, ...collectionSamples }
