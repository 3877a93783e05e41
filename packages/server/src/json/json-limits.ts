/** The limits of the JSON body of an operation. */
import type { Limits } from '../limits.ts'
import type { JsonLimits } from './json-layout.ts'

interface BodyForm {
  readonly bodyIsObject?: boolean | undefined
  readonly takesArray?: boolean | undefined
}

export function jsonLimitsOf(limits: Limits, { bodyIsObject, takesArray }: BodyForm, body: Uint8Array): JsonLimits {
  const boundsBy = (limit: 'bodyValuesMax' | 'objectValuesMax'): JsonLimits => {
    return { depthMax: limits.jsonDepthMax, valuesMax: limits[limit], valuesLimit: limit }
  }
  // Each value takes a byte: most bodies are too short for a look at what they are.
  if (bodyIsObject !== true || body.length <= limits.objectValuesMax) return boundsBy('bodyValuesMax')
  const ofObject = boundsBy('objectValuesMax')
  return takesArray === true ? { ...boundsBy('bodyValuesMax'), ofObjects: ofObject } : ofObject
}
