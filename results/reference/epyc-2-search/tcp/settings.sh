# proved better: ratio 0.2191, 95% interval 0.1595 to 0.3010, of median_us in 10 launches of each side that the search has not seen; what ran: same
export OMPI_MCA_btl=self\,vader
export OMPI_MCA_pml=ob1
