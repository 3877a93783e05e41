/** Names the rules of docs/contract.md that a test shows; `npm run check` compares the two. */
import { it } from 'vitest'

export function rule(ids: string | readonly string[], words: string, test: () => unknown): void {
  it(`${[ids].flat().join(' ')} ${words}`, async () => {
    await test()
  })
}
