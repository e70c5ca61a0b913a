# The plots of doc/paper.md. Variable: out (the directory with the .dat files of reproduce.sh, and of the plots).
set terminal svg size 760,460 font "sans-serif,13" background rgb "white"
set grid
set logscale x

set output out."/ratio.svg"
set title "Rate of a partitioned filter over that of a standard one, full (computed)"
set xlabel "bits of the filter, m"
set ylabel "F_p / F_s" noenhanced
set xrange [64:4096]
set xtics (64, 128, 256, 512, 1024, 2048, 4096)
set yrange [1:1.6]
plot for [k in "2 4 8 16"] out."/ratio.dat" using ($3 == k ? $1 : NaN):2 with lines linewidth 2 title "k = ".k

set output out."/tail.svg"
set title "Elements of a standard filter whose rate is at least so many times the mean, full"
set xlabel "rate of the element / mean rate"
set ylabel "share of the elements"
set logscale y
set xrange [0.5:50]
set xtics (0.5, 1, 2, 4, 8, 16, 32)
set yrange [1e-7:2]
set format y "10^{%T}"
plot out."/tail.dat" using ($3 == 64 && $4 == 4 ? $1 : NaN):2 with linespoints linewidth 2 title "m = 64, k = 4", \
     out."/tail.dat" using ($3 == 64 && $4 == 8 ? $1 : NaN):2 with linespoints linewidth 2 title "m = 64, k = 8", \
     out."/tail.dat" using ($3 == 512 && $4 == 8 ? $1 : NaN):2 with linespoints linewidth 2 title "m = 512, k = 8", \
     out."/tail.dat" using ($3 == 512 && $4 == 16 ? $1 : NaN):2 with linespoints linewidth 2 title "m = 512, k = 16", \
     out."/tail_measured.dat" using 1:2 with points pointtype 6 pointsize 1.5 linecolor rgb "black" title "measured", \
     1.0 with lines dashtype 2 linecolor rgb "#777777" notitle

set output out."/reduction.svg"
set title "A filter of 65536 bits and 16 parts made smaller, at two fills (measured)"
set xlabel "size, of the whole"
set ylabel "false positive rate"
set key bottom right
set xrange [1.1:0.11]
set xtics ("1" 1, "1/2" 0.5, "1/4" 0.25, "1/8" 0.125)
set yrange [*:1]
dash(n) = n == 2838 ? 1 : 2
fill(n) = n == 2838 ? ", fill 1/2" : ", fill 1/8"
plot for [n in "2838 546"] out."/reduction.dat" using ($5 == n ? $1 : NaN):2 with linespoints linewidth 2 linecolor 1 dashtype dash(int(n)) title "parts dropped".fill(int(n)), \
     for [n in "2838 546"] out."/reduction.dat" using ($5 == n ? $1 : NaN):3 with linespoints linewidth 2 linecolor 2 dashtype dash(int(n)) title "best mix".fill(int(n)), \
     for [n in "2838 546"] out."/reduction.dat" using ($5 == n ? $1 : NaN):4 with linespoints linewidth 2 linecolor 4 dashtype dash(int(n)) title "standard, modulo".fill(int(n))
