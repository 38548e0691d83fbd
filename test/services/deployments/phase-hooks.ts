import type { InTransaction } from '../../../src/storage/transactions.ts'
import type { DeployLab } from './deploy-lab.ts'

/** What happens right before the first transaction of a rollout in a phase, once. */
export interface PhaseHooks {
  readonly before: Record<string, (() => Promise<void>) | undefined>
  readonly wrapTransactions: (inTransaction: InTransaction) => InTransaction
}

/** Hooks for the only rollout in progress of a lab, which exists when the first transaction begins. */
export function phaseHooks(lab: () => DeployLab): PhaseHooks {
  const before: PhaseHooks['before'] = {}
  const phaseOf = async (): Promise<string> => {
    const { body } = await lab().lab.service.get('/api/deployments')
    return body.find(({ rollout }: { rollout: object | null }) => rollout !== null)?.rollout.phase ?? 'none'
  }
  return {
    before,
    wrapTransactions: (inTransaction) => async (work) => {
      const phase = await phaseOf()
      const happens = before[phase]
      delete before[phase]
      await happens?.()
      return inTransaction(work)
    },
  }
}
