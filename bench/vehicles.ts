/** The data of the benchmarks: vehicles with a unique license, an indexed year, and a reference to one of fifty models of ten makers. */

export interface Vehicle {
  readonly license: string
  readonly make: string
  readonly year: number
  readonly available: boolean
  readonly mileage: number
  /** Which of the models, from 0. */
  readonly model: number
}

export const modelCount = 50
export const makerCount = 10
export const rangeRows = 100

const firstYear = 1980
const years = 45

export function vehicle(nth: number): Vehicle {
  return {
    license: license(nth),
    make: 'Ashlar',
    year: firstYear + (nth % years),
    available: nth % 2 === 0,
    mileage: nth * 7,
    model: nth % modelCount,
  }
}

export function license(nth: number): string {
  return `L-${nth}`
}

/** The number of the vehicle with this license. */
export function numberOf(given: string): number {
  return Number(given.slice(2))
}

export function anyYear(): number {
  return firstYear + Math.floor(Math.random() * years)
}

export const vehicleSchema = [
  {
    className: 'Vehicle',
    isReferenceable: true,
    attributes: [
      { attributeName: 'license', logicalType: 'string' },
      { attributeName: 'make', logicalType: 'string' },
      { attributeName: 'year', logicalType: 'integer', storage: 'b16' },
      { attributeName: 'available', logicalType: 'boolean' },
      { attributeName: 'mileage', logicalType: 'integer' },
      { attributeName: 'model', logicalType: 'reference', referencedClass: 'Model' },
    ],
  },
  {
    className: 'Model',
    isReferenceable: true,
    attributes: [
      { attributeName: 'name', logicalType: 'string' },
      { attributeName: 'maker', logicalType: 'reference', referencedClass: 'Maker' },
    ],
  },
  {
    className: 'Maker',
    isReferenceable: true,
    attributes: [{ attributeName: 'name', logicalType: 'string' }],
  },
]

export const vehicleIndexes = [
  { name: 'byLicense', indexedClass: 'Vehicle', isUnique: true, keyAttributes: [{ attributeName: 'license' }] },
  { name: 'byYear', indexedClass: 'Vehicle', isUnique: false, keyAttributes: [{ attributeName: 'year' }] },
]
