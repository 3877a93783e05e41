/** Tests that an import upwards, across or out of its package is found, and that a downward one is not. */
import { describe, expect, it } from 'vitest'
import { checkImports } from '../check-imports.ts'

function messages(path: string, text: string): string[] {
  return checkImports(new Map([[path, text]])).findings.map(({ line, message }) => `${line}: ${message}`)
}

const engine = 'packages/engine/src'

describe('layers of the engine', () => {
  it('lets a file import its own module and lower layers', () => {
    const text = `import { a } from './key.ts'\nimport { b } from '../types/oid.ts'\nimport { c } from '../limits.ts'\n`
    expect(messages(`${engine}/records/layout.ts`, text)).toEqual([])
  })

  it('refuses a higher layer, with line and rule', () => {
    const text = `/** x */\nimport { a } from '../objects/create.ts'\n`
    expect(messages(`${engine}/records/layout.ts`, text)).toEqual([
      "2: records (layer 'records') may not import objects (layer 'writes'): only its own module and lower layers",
    ])
  })

  it('refuses another module of the same layer', () => {
    expect(messages(`${engine}/requests/read.ts`, `import '../ddl/alter.ts'`)[0]).toContain('may not import ddl')
  })

  it.each([
    `import type { A } from '../query/run.ts'`,
    `export type { A } from '../query/run.ts'`,
    `export * from '../query/run.ts'`,
    `const a = import('../query/run.ts')`,
    `let a: import('../query/run.ts').A`,
    `import {\n  a,\n  type B,\n} from '../query/run.ts'`,
  ])('sees every form of import: %s', (text) => {
    expect(messages(`${engine}/store/store.ts`, text)).toHaveLength(1)
  })

  it('keeps the layout of keys out of the stores', () => {
    expect(messages(`${engine}/store/postgres/commit.ts`, `import '../../bytes/key-space.ts'`)).toEqual([
      "1: store (layer 'bytes and stores') may not import bytes (layer 'bytes and stores'): only its own module and lower layers",
    ])
    expect(messages(`${engine}/store/postgres/commit.ts`, `import '../../storage/key-placement.ts'`)).toHaveLength(1)
  })

  it('is not misled by comments and strings', () => {
    const text = `// import '../query/run.ts'\nexport const a = "import '../query/run.ts'"\n`
    expect(messages(`${engine}/store/store.ts`, text)).toEqual([])
  })

  it('asks for the layer of a new module', () => {
    expect(messages(`${engine}/misc/thing.ts`, `import './a.ts'`)[0]).toContain('the module misc has no layer')
    expect(messages(`${engine}/objects/create.ts`, `import '../misc/a.ts'`)[0]).toContain(
      'the module misc has no layer',
    )
  })
})

describe('layers within modules of the engine', () => {
  it('lets operators import how expressions are evaluated, and refuses the reverse', () => {
    expect(
      messages(`${engine}/query/operators/a.ts`, `import '../evaluate/b.ts'\nimport '../../store/store.ts'`),
    ).toEqual([])
    expect(messages(`${engine}/query/evaluate/b.ts`, `import type { A } from '../operators/a.ts'`)).toEqual([
      "1: query/evaluate (layer 'evaluation') may not import query/operators (layer 'operators'): only its own module and lower layers",
    ])
  })

  it('lets a driver import the files of all drivers, and refuses the reverse and other drivers', () => {
    expect(messages(`${engine}/store/lmdb/a.ts`, `import '../store.ts'`)).toEqual([])
    expect(messages(`${engine}/store/store.ts`, `import './lmdb/a.ts'`)).toHaveLength(1)
    expect(messages(`${engine}/store/postgres/a.ts`, `import '../memory/a.ts'`)).toHaveLength(1)
    expect(messages(`${engine}/store/citus/a.ts`, `import '../postgres/a.ts'`)).toEqual([])
    expect(messages(`${engine}/store/postgres/a.ts`, `import '../citus/a.ts'`)).toHaveLength(1)
  })

  it('lets operators and kinds of statements know what all of them are, and not each other', () => {
    expect(messages(`${engine}/query/operators/sort.ts`, `import './row-operator.ts'`)).toEqual([])
    expect(messages(`${engine}/query/operators/sort.ts`, `import type { A } from './group.ts'`)).toEqual([
      '1: sort.ts may not import group.ts: each is a kind of its own, and what they share is in the table of tools/check-imports.ts',
    ])
    expect(messages(`${engine}/query/operators/clauses.ts`, `import './distinct.ts'`)).toEqual([])
    expect(messages(`${engine}/query/statements/match.ts`, `import './update.ts'`)).toHaveLength(1)
  })

  it('asks for the layer of a new module', () => {
    const message = 'the module query/misc has no layer in the table of tools/check-imports.ts'
    expect(messages(`${engine}/query/misc/a.ts`, `import './b.ts'`)).toEqual([`1: ${message}`])
  })

  it('refuses a circle', () => {
    const files = new Map([
      [`${engine}/links/a.ts`, `import './b.ts'`],
      [`${engine}/links/b.ts`, `import type { A } from './a.ts'`],
    ])
    expect(checkImports(files).findings).toHaveLength(1)
  })
})

describe('layers of the server', () => {
  const server = 'packages/server/src'

  it('lets routes import the dispatcher, and refuses the reverse', () => {
    expect(messages(`${server}/http/routes.ts`, `import '../dispatch/operation.ts'`)).toEqual([])
    expect(messages(`${server}/dispatch/operation.ts`, `import '../http/routes.ts'`)).toEqual([
      "1: dispatch (layer 'dispatch') may not import http (layer 'HTTP'): only its own module and lower layers",
    ])
  })

  it('asks for the layer of a new module', () => {
    expect(messages(`${server}/misc/thing.ts`, `import './a.ts'`)[0]).toContain('the module misc has no layer')
  })

  it('refuses that files import each other in a circle, also by their types', () => {
    const files = new Map([
      [`${server}/http/a.ts`, `import './b.ts'`],
      [`${server}/http/b.ts`, `import type { C } from './c.ts'`],
      [`${server}/http/c.ts`, `import './b.ts'\nimport '../limits.ts'`],
    ])
    expect(checkImports(files).findings.map(({ message }) => message)).toEqual([
      `a cycle of imports: ${server}/http/b.ts → ${server}/http/c.ts → ${server}/http/b.ts`,
    ])
  })
})

describe('direction of the packages', () => {
  it('lets the server import the engine, and the command line everything', () => {
    expect(messages('packages/server/src/http/a.ts', `import '@ashlar/engine'\nimport 'find-my-way'`)).toEqual([])
    const all = `import '@ashlar/engine'\nimport '@ashlar/server/shared'\nimport '@ashlar/client'`
    expect(messages('packages/cli/src/serve/serve.ts', all)).toEqual([])
  })

  it.each([
    ['engine', '@ashlar/client'],
    ['server', '@ashlar/client'],
    ['server', '@ashlar/cli'],
    ['engine', '@ashlar/server'],
    ['client', '@ashlar/engine'],
  ])('refuses that %s imports %s', (name, specifier) => {
    expect(messages(`packages/${name}/src/errors.ts`, `import type {} from '${specifier}'`)).toHaveLength(1)
  })

  it('keeps the client free of dependencies', () => {
    expect(
      messages('packages/client/src/client.ts', `import 'undici'\nimport 'node:http'\nimport './wire.ts'`),
    ).toEqual(['1: client has no dependencies, not even undici', '2: client has no dependencies, not even node:http'])
    const react = `import 'react'\nimport 'react-dom'`
    expect(messages('packages/client/src/react.ts', react)).toEqual([
      '2: client has no dependencies, not even react-dom',
    ])
    expect(messages('packages/client/src/client.ts', react)).toHaveLength(2)
  })

  it('refuses what package.json lets a package depend on against the direction, and any dependency of the client', () => {
    const files = new Map([
      [
        'packages/server/package.json',
        '{"dependencies":{"@ashlar/engine":"1","@ashlar/client":"1","find-my-way":"1"}}',
      ],
      ['packages/client/package.json', '{"dependencies":{"undici":"1"}}'],
      [
        'packages/engine/package.json',
        '{"dependencies":{"@ashlar/client":"1"},"devDependencies":{"@ashlar/server":"1"}}',
      ],
    ])
    expect(checkImports(files).findings).toEqual([
      { file: 'packages/server/package.json', message: 'server may not depend on @ashlar/client' },
      { file: 'packages/client/package.json', message: 'client may not depend on undici' },
      { file: 'packages/engine/package.json', message: 'engine may not depend on @ashlar/client' },
    ])
  })

  it('refuses an import of what package.json does not name, or only for tests', () => {
    const files = new Map([
      ['packages/server/package.json', '{"dependencies":{"@a/b":"1"},"devDependencies":{"c":"1"}}'],
      ['packages/server/src/http/a.ts', `import '@a/b/part.js'\nimport 'c'\nimport 'node:fs'`],
    ])
    expect(checkImports(files).findings.map(({ line, message }) => `${line}: ${message}`)).toEqual([
      '2: c is not among the dependencies in packages/server/package.json',
    ])
  })

  it('refuses a path into the sources of another package', () => {
    expect(messages('packages/server/src/http/a.ts', `import '../../../engine/src/errors.ts'`)[0]).toContain(
      'leaves the sources',
    )
  })
})

describe('synchronous modules', () => {
  it.each([
    'async function f() {}',
    'const f = async () => 1',
    'let a: Promise<void>',
    'const a = new Promise(() => {})',
    'class A { async f() {} }',
    'let a: AsyncIterable<number>',
  ])('refuses %s', (text) => {
    expect(messages(`${engine}/schema/a.ts`, text).length).toBeGreaterThan(0)
    expect(messages(`${engine}/query/evaluate/a.ts`, text).length).toBeGreaterThan(0)
  })

  it('lets the other modules wait, and words be words', () => {
    expect(messages(`${engine}/store/a.ts`, 'async function f() { await 1 }')).toEqual([])
    expect(messages(`${engine}/schema/a.ts`, '// a Promise\nexport const a = "async"')).toEqual([])
  })
})
