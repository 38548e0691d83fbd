import type { Savings } from '../../api/types.ts'
import { receiptStrings as strings } from '../../strings/operations.ts'
import { formatMoney } from '../../strings/everywhere/units.ts'
import { Figure, FigureRow } from './figure.tsx'

/** What is saved at the configured prices. */
export function Money({ money }: { readonly money: Savings }) {
  const { currency, storage_per_month: storage, thousand_scans: scans } = money
  return (
    <FigureRow>
      {storage !== null && <Figure label={strings.storageMoney} value={formatMoney(storage, currency)} />}
      {scans !== null && <Figure label={strings.scanMoney} value={formatMoney(scans, currency)} />}
    </FigureRow>
  )
}
