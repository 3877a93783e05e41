/**
 * What concurrent transactions may see of each other (contract 7.1, docs/consistency.md). `serializable`: the commit requires everything the
 * transaction has read to be unchanged. `snapshot`: only its changes and their reference targets.
 */
export type Isolation = 'serializable' | 'snapshot'

export const isolations: readonly Isolation[] = ['serializable', 'snapshot']
export const isolationDefault: Isolation = 'serializable'
