/** A reply of the size of a vehicle's, and the same for every request: what there is to answer without any work. */
export const constantReply = Buffer.from(
  JSON.stringify({
    id: 50_000,
    license: 'L-50000',
    make: 'Ashlar',
    year: 2001,
    available: true,
    mileage: 350_000,
    model: 21,
    manufacturer: 'Ashlar and Sons',
  }),
)
