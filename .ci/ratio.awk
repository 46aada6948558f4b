# Passes the output of go test -bench through, and ends with the speed of Analyze as a share of that of the bare parse.
{ print; for (i = 2; i <= NF; i++) if ($i == "MB/s") speed[substr($1, 10, 7)] = $(i - 1) }
END { if (speed["BarePar"])
	printf "Analyze runs at %.0f%% of the speed of the bare parse\n", 100 * speed["Analyze"] / speed["BarePar"] }
