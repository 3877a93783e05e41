/** The data of the benchmark: vehicles with a unique license, an indexed year, and a link to one of fifty models. */

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
    attributes: [{ attributeName: 'name', logicalType: 'string' }],
  },
]

export const vehicleIndexes = [
  { name: 'byLicense', indexedClass: 'Vehicle', isUnique: true, keyAttributes: [{ attributeName: 'license' }] },
  { name: 'byYear', indexedClass: 'Vehicle', isUnique: false, keyAttributes: [{ attributeName: 'year' }] },
]
