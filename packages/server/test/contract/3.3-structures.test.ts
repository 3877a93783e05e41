/** References, embedded objects and collections, from JSON in to JSON out, over HTTP. */
import { afterAll, beforeAll, describe } from 'vitest'
import { list, reference, set } from './class-of.ts'
import { rule } from './rule.ts'
import { startTypesUnderTest, type TypesUnderTest } from './types-under-test.ts'

let types: TypesUnderTest
beforeAll(async () => {
  types = await startTypesUnderTest()
})
afterAll(() => types.server.remove())

describe('references, embedded objects and collections', () => {
  rule('3.3.1', 'reference', async () => {
    const target = await types.fd.create('Target')
    await types.shows(reference('Target'), {
      null: '"0-0-0-0"',
      [`"${target}"`]: `"${target}"`,
      '"0-0-0-0"': '"0-0-0-0"',
    })
    await types.refuses(reference('Target'), 422, '"3-3-1-60000"', '"nope"', '"03-3-1-1"')
    await types.refuses(reference('Target'), 400, '5', '{}')
  })

  rule('3.3.2', 'embedded object', async () => {
    const type = { logicalType: 'object', class: 'Point' }
    await types.shows(type, { '{"x":3}': '{"x":3,"y":0}', '{}': '{"x":0,"y":0}' })
    await types.refuses(type, 422, '{"z":1}', '{"x":99999999999}')
    await types.refuses(type, 400, '5', '[]', '{"x":"many"}')
  })

  rule('3.3.3', 'list', async () => {
    await types.shows(list('integer'), { '[3,1,3]': '[3,1,3]', '[]': '[]' })
    await types.shows(list({ logicalType: 'object', class: 'Point' }), {
      '[{"x":1},{"y":2.5}]': '[{"x":1,"y":0},{"x":0,"y":2.5}]',
    })
    await types.shows(list('string'), { '["b","","ä"]': '["b","","ä"]' })
    await types.refusesDefinition(list(list('integer')))
    await types.refuses(list('integer'), 400, '["x"]', '5', '"[]"')
  })

  rule('3.3.4', 'kinds of list', async () => {
    const target = await types.fd.create('Target')
    await types.shows(list(reference('Target'), 'TreeListOfReferences'), {
      [`["${target}","${target}"]`]: `["${target}","${target}"]`,
    })
    await types.shows(list('real', 'segmentedarray'), { '[1.5]': '[1.5]' })
    await types.refusesDefinition(list('integer', 'TreeListOfReferences'), list('integer', 'TreeSetOfReferences'))
  })

  rule('3.3.5', 'set', async () => {
    const [one, two] = [await types.fd.create('Target'), await types.fd.create('Target')]
    for (const kind of ['TreeSetOfReferences', 'HashSetOfReferences']) {
      await types.shows(set(reference('Target'), kind), { [`["${two}","${one}","${two}"]`]: `["${one}","${two}"]` })
    }
    await types.refusesDefinition(set({ logicalType: 'integer' }))
  })

  rule('3.3.6', 'map', async () => {
    const target = await types.fd.create('Target')
    const byName = { logicalType: 'map', elementSpecification: reference('Target') }
    await types.shows(byName, {
      [`{"b":"${target}","a":"${target}","":"${target}"}`]: `{"":"${target}","a":"${target}","b":"${target}"}`,
      [`{"pairs":[{"key":"__proto__","value":"${target}"}]}`]: `{"__proto__":"${target}"}`,
      null: '{}',
    })
    for (const collectionTypeName of ['HashMapOfReferences', 'TreeMapOfReferences']) {
      const byReference = { ...byName, collectionTypeName, keySpecification: reference('Target') }
      await types.shows(byReference, { [`{"${target}":"${target}"}`]: `{"${target}":"${target}"}` })
    }
    await types.refuses(byName, 422, '{"a":"3-3-1-60000"}')
    await types.refusesDefinition({
      ...byName,
      collectionTypeName: 'HashMapOfReferences',
      keySpecification: { logicalType: 'string' },
    })
  })

  rule('3.3.7', 'null elements', async () => {
    await types.shows(list(reference('Target')), { '[null]': '["0-0-0-0"]' })
    await types.refuses(set(reference('Target')), 422, '[null]', '["0-0-0-0"]')
  })

  rule('3.3.9', 'keys of a map', async () => {
    const map = (collectionTypeName?: string, keySpecification?: unknown) => ({
      logicalType: 'map',
      elementSpecification: reference('Target'),
      ...(collectionTypeName === undefined ? {} : { collectionTypeName }),
      ...(keySpecification === undefined ? {} : { keySpecification }),
    })
    await types.classWith(map('nametoreferencemap', { logicalType: 'string' }))
    await types.classWith(map('TREEMAPOFREFERENCES', reference('Target')))
    await types.refusesDefinition(
      map('NameToReferenceMap', reference('Target')),
      map('NameToReferenceMap', { logicalType: 'integer' }),
      map('HashMapOfReferences', { logicalType: 'string' }),
      map('TreeListOfReferences'),
    )
  })
})
