/** Tests that a link to nothing and a script that does not exist are found in the documents. */
import { describe, expect, it } from 'vitest'
import { checkDocs } from '../check-docs.ts'

function messages(text: string, document = 'docs/guide.md'): string[] {
  const files = new Map([
    ['package.json', JSON.stringify({ scripts: { start: '', test: '', check: '' } })],
    [document, text],
    ['docs/contract.md', '# The contract\n\n## 4.1 `POST /v1/index`\n'],
    ['packages/engine/src/index.ts', ''],
  ])
  return checkDocs(files).findings.map(({ line, message }) => `${line}: ${message}`)
}

describe('links', () => {
  it('lets links lead to files, folders, headings and the web', () => {
    const text =
      '# Guide\n[a](contract.md) [b](../packages/engine/src/index.ts) [c](../packages/engine) [d](https://x.y/z)\n'
    expect(messages(`${text}[e](contract.md#41-post-v1index) [f](#guide)\n`)).toEqual([])
  })

  it('finds a link to no file or heading', () => {
    expect(messages('\n[a](missing.md)\n')).toEqual(['2: missing.md leads to no file of the project'])
    expect(messages('[a](contract.md#other)')).toEqual(['1: contract.md#other leads to no heading of docs/contract.md'])
  })

  it('leaves code alone', () => {
    expect(messages('`[a](missing.md)`\n```\n[a](missing.md)\n```\n')).toEqual([])
  })
})

describe('files that are named', () => {
  it('are there, as a whole path or its end', () => {
    expect(messages('`packages/engine/src/index.ts` `engine/index.ts` `index.ts` `Node.js`')).toEqual([])
    expect(messages('see\n`query/index.ts`, `ndex.ts`')).toEqual([
      '2: there is no query/index.ts',
      '2: there is no ndex.ts',
    ])
  })

  it('and so are folders, where the document is about the sources', () => {
    expect(messages('`engine/`, `storage/`, `<name>/x.ts`', 'ARCHITECTURE.md')).toEqual(['1: there is no storage/'])
    expect(messages('`storage/`')).toEqual([])
  })

  it('may be gone where the document tells what was', () => {
    expect(messages('`gone.ts`', 'CHANGELOG.md')).toEqual([])
  })
})

describe('npm scripts', () => {
  it('knows the scripts there are', () => {
    expect(
      messages('`npm start -- --port 0`, `npm test`, `npm run check`\n```\nnpm run check -- imports\n```\n'),
    ).toEqual([])
  })

  it('finds one that is not there', () => {
    expect(messages('```\nnpm run lint\n```\n')).toEqual(['2: there is no npm script lint'])
  })
})
