/** The mark: two lock gates under a roof. */
export function LogoMark({ size = 20 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" fill="#0b6e7f" />
      <path
        d="M5 11.5 16 9l11 2.5M5 22h8v-6M19 16v6h8M13 12v4M19 12v4"
        fill="none"
        stroke="#fff"
        strokeWidth="2.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  )
}
