/** Renames of a planned schema: what refers to a renamed class or attribute has the new name. */
import { expect, it } from 'vitest'
import { exitCodes } from '../../src/errors/exit-codes.ts'
import { applyRenames } from '../../src/schema/schema-renames.ts'
import { schemaText } from '../../src/schema/schema-text.ts'
import { schemaOfSource } from '../../src/schema/scratch-schema.ts'

const schemaOf = (text: string) => schemaOfSource({ text, placeOf: () => ({ place: 'here', line: '' }) })
const fleet = (car: string, km: string): string => `UPDATE SCHEMA {
  CREATE CLASS ${car} {
    ${km}: Integer,
    miles: Real = (${km} / 1.6),
    owner: Reference{Referenced: Owner, Inverse: cars},
    CHECK positive: ${km} >= 0
  }

  CREATE CLASS Owner {
    cars: List{Element: Reference{Referenced: ${car}, Inverse: owner}}
  }
};

CREATE INDEX byOwner ON ${car} (owner, ${km});
`

it('reach references, keys of indexes, and expressions', async () => {
  const { schema, classes, attributes } = await applyRenames(await schemaOf(fleet('Car', 'km')), [
    'Car=Auto',
    'Car.km=mileage',
  ])
  expect(classes).toEqual([{ from: 'Car', to: 'Auto' }])
  expect(attributes).toEqual([{ className: 'Auto', from: 'km', to: 'mileage' }])
  // Where the engine puts a new name into an expression, it quotes the name.
  const text = schemaText(schema, 'asNeeded').replaceAll('`', '')
  expect(text).toBe(fleet('Auto', 'mileage'))
})

it('to a name that is there are refused', async () => {
  const schema = await schemaOf(fleet('Car', 'km'))
  for (const rename of ['Car=Owner', 'Car.km=miles'])
    await expect(applyRenames(schema, [rename])).rejects.toMatchObject({ exitCode: exitCodes.conflict })
})
